"""Logs as they are: old and new wordings, ranks, colours, rubbish, and secrets that stay inside."""

import io
import json
import random
import re
import tomllib
import tracemalloc
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdocs.explain.answer import explain
from kvdocs.facts.claims import load_claims
from kvdocs.facts.tables import tables
from kvdocs.logs import lines as log_lines
from kvdocs.logs import reading as logs
from kvdocs.logs.known import FILES, load_phrase, phrases
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import WORDS, Printed, Quantity
from kvdocs.logs.reading import scan

PHRASES = phrases()
FOLDER = Path(logs.__file__).parent / "phrases"


def found(text):
    data = text if isinstance(text, bytes) else text.encode()
    return [reading.shown for reading in scan(io.BytesIO(data)).readings]


def explained(text, **named):
    return explain(text, **named).as_json()


def keys(phrase):
    """The names of its numbers."""
    return [number.key for number in phrase.numbers]


# Lines copied from public logs and threads, and from engines' sources; each with what it says.
LINES = {
    "(Worker_TP0 pid=7) INFO 08-28 [gpu_worker.py:773] Available KV cache memory: 7.0 GiB": (
        "Available KV cache memory: 7.0 GiB"
    ),
    "INFO [kv_cache_utils.py:1147] GPU KV cache size: 187,232 tokens, Maximum concurrency for "
    "32,768 tokens per request: 5.71x": "KV cache size: 187,232 tokens",
    "CPU KV cache size: 5,529 tokens": "KV cache size: 5,529 tokens",
    "reserved 0.49 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and "
    "skipped memory profiling.": (
        "reserved 0.49 GiB memory for KV Cache as specified by kv_cache_memory_bytes"
    ),
    "ValueError: To serve at least one request with the models's max seq len (12288), 1.69 GiB KV "
    "cache is needed, which is larger than the available KV cache memory (0.87 GiB).": (
        "max seq len (12288), (1.69 GiB KV cache is needed, which is larger than the available KV "
        "cache memory (0.87 GiB)"
    ),
    "the rest of the memory reserved for KV Cache is -7.83GiB.": (
        "reserved for KV Cache is -7.83GiB"
    ),
    "INFO 05-30 executor_base.py:110] # CUDA blocks: 5517, # CPU blocks: 9362": "GPU blocks: 5517",
    "Loading model weights took 14.9888 GB": "Model loading took 14.9888 GiB memory",
    '# HELP x\nvllm:kv_cache_usage_perc{engine="0",model_name="m"} 4.2e-02': (
        "vllm:kv_cache_usage_perc 4.2e-02"
    ),
    'vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1.2e+06': (
        "vllm:prefix_cache_queries_total 1.2e+06"
    ),
    'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 4096.0': (
        "vllm:prefix_cache_hits_total 4096.0"
    ),
    'vllm:num_requests_running{engine="0"} 3.0': "vllm:num_requests_running 3.0",
    'vllm:num_requests_waiting{engine="0"} 2.0': "vllm:num_requests_waiting 2.0",
    '\x1b[36mvllm:cache_config_info{block_size="16",num_gpu_blocks="11702"} 1.0\x1b[0m': (
        "vllm:cache_config_info num_gpu_blocks=11702"
    ),
    "[2025-11-04 DP0 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 524288, "
    "KV size: 17.16 GB": "#tokens: 524288, KV size: 17.16 GB",
    "max_total_num_tokens=350257, chunked_prefill_size=8192, context_len=262144": (
        "max_total_num_tokens=350257"
    ),
    "llama_kv_cache_unified: size = 18432.00 MiB (131072 cells,  36 layers,  1/ 1 seqs), K (f16): "
    "9216.00 MiB, V (f16): 9216.00 MiB": (
        "size = 18432.00 MiB (131072 cells, 36 layers, 1 seqs), K (f16): 9216.00 MiB, V (f16): "
        "9216.00 MiB"
    ),
    "llama_new_context_with_model: kv self size  =  256.00 MB": (
        "KV self size = 256.00 MiB, K (…): … MiB, V (…): … MiB"
    ),
    "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache "
    "(220480).": "Allocated 26.91 GiB for max tokens in paged KV cache (220480)",
    "[TensorRT-LLM][INFO] Using 31616 total tokens in paged KV cache, and 16 blocks per sequence": (
        "Using 31616 tokens in paged KV cache"
    ),
}


@pytest.mark.parametrize(("line", "shown"), LINES.items(), ids=range(len(LINES)))
def test_a_line_is_recognised_in_its_own_wording(line, shown):
    assert shown in found(line)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing of interest\n" * 100,
        "Available KV cache memory: unknown GiB",
        "KV cache size: tokens",
        "tokens per second: 12, 3.5 kB/s",
        b"\x00\xff" * 5000,
    ],
)
def test_other_lines_are_left_alone(text):
    assert found(text) == []


SECRETS = ("hf_kjhgKJHGkjhg98798", "sk-ant-987987", "10.1.2.3", "acme-internal", "hunter2")


def test_secrets_are_never_echoed():
    hf, key, host, org, password = SECRETS
    text = (
        f"HF_TOKEN={hf} vllm serve /data/{org}/{password} --api-key {key} --kv-cache-dtype {org}\n"
        f"{host} {hf} Available KV cache memory: 6.51 GiB {key}\n"
        f'GPU KV cache size: 42,656 tokens, model="{org}" token={hf}\n'
        f'vllm:kv_cache_usage_perc{{model_name="{org}",key="{key}"}} 0.5\n'
        f"llama_kv_cache: size = 1.00 MiB (1 cells, 1 layers, 1/1 seqs), K ({password}): 1.00 MiB\n"
        f"model='{org}', kv_cache_dtype={password}, quantization={key}\n"
    )
    result = explain(text)
    for rendered in (json.dumps(result.as_json()), str(result)):
        assert not [secret for secret in SECRETS if secret in rendered]
        assert "6.51 GiB" in rendered


def test_a_model_is_named_only_if_it_is_a_known_one():
    line = "Available KV cache memory: 6.51 GiB\nGPU KV cache size: 42,656 tokens\n"
    known = explained("model='/data/acme/Qwen3-14B-AWQ', tensor_parallel_size=1\n" + line)
    assert known["model"] == "Qwen/Qwen3-14B"
    assert known["checks"][0]["agrees"]
    assert "acme" not in json.dumps(known)
    assert explained("model='/data/acme/finetune', LLM engine\n" + line)["model"] is None


class Endless:
    """A stream of ``size`` bytes in which ``text`` is repeated, with rubbish between."""

    def __init__(self, text, size):
        self.text, self.left, self.dice = text, size, random.Random(7)

    def read(self, count):
        count = min(count, self.left)
        self.left -= count
        rubbish = self.dice.randbytes(count // 2)
        return (rubbish + self.text * (count // len(self.text) + 1))[:count]


@pytest.mark.parametrize(
    "text",
    [
        b"KV cache size: 1,234 tokens\n",
        b"Available KV cache memory: " + b"9" * 400,
        b"vllm:cache_config_info{" + b'a="b",' * 900,
        b"max seq len (1), (" * 50,
        b"GPU KV cache usage: 1.5%, " * 40,
    ],
)
def test_a_large_log_is_read_in_bounded_memory(text, monkeypatch):
    monkeypatch.setattr(logs, "PIECE", 1 << 14)
    monkeypatch.setattr(logs, "LONGEST_LINE", 1 << 12)
    monkeypatch.setattr(log_lines, "MOST_KNOWN", 1 << 9)
    tracemalloc.start()
    log = scan(Endless(text, 3_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert len(log.readings) < 1000


def test_many_different_readings_of_one_phrase_are_counted_not_kept():
    text = "".join(f"Available KV cache memory: {i}.00 GiB\n" for i in range(5000))
    log = scan(io.BytesIO(text.encode()))
    assert len(log.readings) == 200
    assert log.left_out == 4800


def test_a_line_of_a_known_shape_is_not_read_again(monkeypatch):
    read = []
    spots = log_lines._spots
    monkeypatch.setattr(log_lines, "_spots", lambda *line: read.append(line) or spots(*line))
    line = "INFO 10-03 16:{:02}:{:02} GPU KV cache size: {:,} tokens\n"
    text = "".join(line.format(i // 60, i % 60, 42_000 + i // 10) for i in range(1000))
    log = scan(io.BytesIO(text.encode()))
    assert (len(read), len(log.readings), log.lines) == (1, 100, 1000)
    assert set(log.times.values()) == {10}
    assert log.readings[-1].values == {"tokens": "42,099"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("native FP8 (fp8e4nv) requires SM75+", "native FP8 (fp8e4nv) requires SM89+"),
        ('"kv_cache_quant_algo": "FP4"', '"kv_cache_quant_algo": "FP8"'),
    ],
)
def test_where_a_digit_stands_for_itself_lines_of_one_shape_differ(first, second):
    assert log_lines.shape(first.encode()) == log_lines.shape(second.encode())
    assert not scan(io.BytesIO(first.encode())).readings
    assert len(scan(io.BytesIO(f"{first}\n{second}\n".encode())).readings) == 1


def test_colours_within_a_phrase_do_not_hide_it():
    assert found("Available KV\x1b[32m cache memory: \x1b[1m6.51\x1b[0m GiB\n") == [
        "Available KV cache memory: 6.51 GiB"
    ]


def test_what_is_remembered_of_lines_is_bounded():
    lines = (f"padding {i} KV cache usage: {i % 100}.0%\n".encode() for i in range(20_000))
    tracemalloc.start()
    log = scan(io.BytesIO(b"".join(lines)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [reading.shown for reading in log.readings] == ["KV cache usage: 99.0%"]
    assert peak < 16 * 2**20


def test_what_to_change_is_in_the_engines_own_words():
    text = (
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV "
        "cache (220480)."
    )
    answered = explained(text, model="meta-llama/Llama-3.1-8B-Instruct")
    assert [reason["key"] for reason in answered["checks"][0]["reasons"]]
    assert not any("--" in change for change in answered["change"])
    assert "max_tokens" in " ".join(answered["change"])


def test_a_log_in_utf_16_is_read():
    assert found("Available KV cache memory: 6.51 GiB\r\n".encode("utf-16")) == [
        "Available KV cache memory: 6.51 GiB"
    ]


def test_a_phrase_across_two_pieces_of_the_stream_is_found():
    class Drops(io.BytesIO):
        def read(self, size=-1):
            return super().read(7)

    data = b"x" * 100 + b"\nAvailable KV cache memory: 6.51 GiB\n"
    assert scan(Drops(data)).readings[0].line == 2


def test_only_the_highest_usage_is_kept():
    text = "".join(f"GPU KV cache usage: {u}%, x\n" for u in (1.5, 98.2, 3.0))
    assert found(text) == ["KV cache usage: 98.2%"]


def test_rounding_as_the_engine_rounds():
    # format_gib prints 7.0 for 7.00: the interval is that of two places.
    memory = Printed("7.0", Quantity("GiB", decimals=2))
    assert (memory.high - memory.low) * 100 == 2**30
    assert Printed("42,656", Quantity("tokens")).low == 42_656


def test_every_phrase_finds_itself_and_says_what_it_means():
    for phrase in PHRASES:
        assert phrase.means.endswith(".")
        assert phrase.wording
        for name in re.findall(r"\{(\w+)\}", phrase.text):
            assert name in keys(phrase) or name in WORDS
        values = dict.fromkeys(keys(phrase), "16") | dict.fromkeys(("k_type", "v_type"), "f16")
        line = phrase.show(values | {"kv_dtype": "FP8"})
        assert line in found(line), phrase.key


@pytest.mark.parametrize("file", FILES)
def test_lines_say_what_all_of_toml_says(file):
    path = FOLDER / f"{file}.toml"
    parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    for key, fields in tables(path).items():
        table = reduce(getitem, key.split("."), parsed)
        numbers = {f"numbers.{name}": says for name, says in table.pop("numbers", {}).items()}
        assert table | numbers == fields


def test_every_file_of_phrases_is_looked_through():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(f"{one}.toml" for one in FILES)


def test_no_two_phrases_have_one_key():
    assert len({phrase.key for phrase in PHRASES}) == len(PHRASES) > 100


def test_every_declared_number_is_one_that_a_phrase_yields():
    assert {number for phrase in PHRASES for number in phrase.numbers} == set(Number)
    said = [number.counts for number in Number]
    assert len(set(said)) == len(said)


GOOD = {
    "engine": '"vLLM"',
    "wording": '"a log"',
    "hint": '"KV cache memory"',
    "text": '"KV cache memory: {memory} GiB"',
    "numbers.memory": '["GiB", "per rank"]',
    "means": '"What one GPU has left."',
}


def written(folder, **changed):
    """A file with one phrase; a field changed to None is left out."""
    fields = {**GOOD, **{name.replace("__", "."): text for name, text in changed.items()}}
    lines = (f"{name} = {text}\n" for name, text in fields.items() if text is not None)
    path = folder / "engine.toml"
    path.write_text("[engine.memory]\n" + "".join(lines), encoding="utf-8")
    return path


def test_a_phrase_is_read_from_one_table(tmp_path):
    path = written(tmp_path, numbers__memory='["GiB", "per rank", 2]', highest="true")
    phrase = load_phrase(path, "engine.memory")
    assert phrase.numbers == {Number.MEMORY: Quantity("GiB", "per rank", decimals=2)}
    assert (phrase.key, phrase.engine, phrase.change, phrase.also) == (
        "engine.memory",
        "vLLM",
        "",
        (),
    )
    assert phrase.highest


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"means": None}, "missing field 'means'"),
        ({"meens": '"x"'}, "unknown field 'meens'"),
        ({"highest": "1"}, "field 'highest' is 1, not bool"),
        ({"hint": '""'}, "field 'hint' is empty"),
        ({"numbers__memry": '["GiB", "per rank"]'}, "field 'numbers.memry': kvdocs/logs/number.py"),
        ({"numbers__memory": '["tokens", "per rank"]'}, "field 'numbers.memory' has 'tokens', not"),
        ({"numbers__memory": '["GiB", "a rank"]'}, "field 'numbers.memory' has 'a rank', not one"),
        ({"numbers__memory": '"GiB"'}, "field 'numbers.memory' is 'GiB', not as"),
        ({"numbers__memory": '["GiB", "per rank", true]'}, "field 'numbers.memory' is .*, not as"),
        (
            {"text": '"KV cache: {memry} GiB"'},
            "yields 'memry', but field 'numbers.memry' is missing",
        ),
        ({"also": '["KV cache: <memry> GiB"]'}, "yields 'memry', but field 'numbers.memry' is"),
    ],
)
def test_a_phrase_that_does_not_say_what_it_must_is_refused(tmp_path, changed, said):
    with pytest.raises(ValueError, match=rf"engine\.toml: engine\.memory: {said}"):
        load_phrase(written(tmp_path, **changed), "engine.memory")


def test_a_phrase_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"engine\.toml: engine\.memry: no phrase is called so"):
        load_phrase(written(tmp_path), "engine.memry")


def test_a_comparison_that_asks_for_a_misspelt_number_is_an_error():
    reading = scan(io.BytesIO(b"Available KV cache memory: 7.0 GiB")).readings[0]
    assert Number.MEMORY in reading
    with pytest.raises(AttributeError):
        _ = "memry" in reading
    with pytest.raises(ValueError, match="k_tipe"):
        reading.word("k_tipe")


def test_ranks_that_differ_are_held_against_their_lowest():
    text = (
        "(Worker_TP0) Available KV cache memory: 8.11 GiB\n"
        "(Worker_TP1) Available KV cache memory: 8.02 GiB\n"
        "GPU KV cache size: 178,880 tokens\n"
    )
    check = explained(text, model="Qwen/Qwen3-235B-A22B", tp=4)["checks"][0]
    assert check["agrees"]  # 8.02 GiB over these tokens is the formula's 48,128 bytes


@pytest.mark.parametrize(
    ("claim", "key"),
    [
        ("vllm.startup_error.text", "vllm.too_long"),
        ("vllm.startup_error.text", "vllm.longest"),
        ("vllm.startup_error.nothing_left", "vllm.nothing_left"),
        ("vllm.startup_error.old_text", "vllm.too_long_v0"),
        ("vllm.startup_log.capacity", "vllm.capacity"),
        ("vllm.startup_log.capacity", "vllm.concurrency"),
        ("vllm.startup_log.memory", "vllm.available"),
        ("vllm.fp8.sm75.message", "vllm.fp8_refused"),
        ("vllm.metrics.usage", "vllm.usage_metric"),
        ("vllm.metrics.preemptions", "vllm.preemptions"),
        ("llama_cpp.quantized_v.message", "llama_cpp.quantised_v"),
    ],
)
def test_the_messages_cited_in_claims_are_recognised(claim, key):
    text = str(load_claims()[claim].value).replace("%s", "6.51")
    line = f"{text} 1.0" if ".metrics." in claim else text
    assert key in [reading.phrase.key for reading in scan(io.BytesIO(line.encode())).readings]


NUMBERS = st.sampled_from(
    ["0", "1", "-7.83", "16", "0.00", "1e99", "99999999999999999999", "4.2e-02"]
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from(PHRASES), st.lists(NUMBERS, min_size=8, max_size=8)), min_size=1
    ),
    st.sampled_from(["Qwen/Qwen3-14B", "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3", None]),
)
def test_absurd_numbers_are_answered_not_crashed_on(lines, model):
    text = ""
    for phrase, numbers in lines:
        values = dict(zip(keys(phrase), numbers, strict=False))
        text += phrase.show({"k_type": "f16", "v_type": "q4_0", "kv_dtype": "FP8"} | values) + "\n"
    answer = explain(text, model=model)
    result = answer.as_json()
    assert str(answer)
    assert json.loads(json.dumps(result)) == result


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(PHRASES),
    st.lists(NUMBERS, min_size=8, max_size=8),
    st.sampled_from(["f16", "f32", "q8_0", "q4_0"]),
    st.lists(st.integers(0, 9), min_size=60, max_size=60),
)
def test_what_is_found_in_a_line_does_not_depend_on_the_lines_before(phrase, numbers, word, digits):
    words = {"k_type": word, "v_type": word, "kv_dtype": "FP8"}
    line = phrase.show(words | dict(zip(keys(phrase), numbers, strict=False)))
    others = iter(digits)
    other = "".join(f"{next(others)}" if char.isdigit() else char for char in line)
    alone = {name for text in (line, other) for name in found(text)}
    together = found(f"{line}\n{other}\n")
    assert set(together) == alone or (phrase.highest and set(together) < alone)


def test_the_refusal_of_fp8_names_the_cards_that_print_it():
    """v1/attention/backends/triton_attn.py:511 of vLLM 0.33.0: below 8.9, an A100 has 8.0."""
    line = b"native FP8 (fp8e4nv) requires SM89+. Re-run with --kv-cache-dtype bfloat16."
    meaning = scan(io.BytesIO(line)).readings[0].phrase.means
    assert "below 8.9, as an A100, an RTX 30 card" in meaning
