"""Logs of one and of several start-ups: each number is held against its own start-up's settings,
and a reason is given only where it can be true."""

import random
import re

import pytest

from kvdocs.engines.vllm.pool import Options, Pool
from kvdocs.engines.vllm.states import rank_state
from kvdocs.explain.answer import explain
from kvdocs.facts import snapshot
from kvdocs.logs.known import phrases

QWEN, LLAMA, OSS = (
    "Qwen/Qwen2.5-7B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "openai/gpt-oss-20b",
)
GEMMA, DEEPSEEK = "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3"


def engine(model=QWEN, version="0.33.0", **settings):
    stated = {"tensor_parallel_size": 1, "kv_cache_dtype": "auto"} | settings
    listed = ", ".join(f"{name}={value}" for name, value in stated.items())
    return f"LLM engine (v{version}) with config: model='{model}', dtype=torch.bfloat16, {listed}\n"


def pool(tokens, times=None, length=32_768, memory="10.00"):
    """A start-up's lines; the length is printed with the concurrency only."""
    lines = f"Available KV cache memory: {memory} GiB\nGPU KV cache size: {tokens:,} tokens\n"
    if times is None:
        return lines
    return lines + f"Maximum concurrency for {length:,} tokens per request: {times}x\n"


def told(text, model=None, tp=None):
    """Of each check its key, ``agrees`` or not, and its reasons; and the whole answer."""
    found = explain(text, model, tp).as_json()
    checks = [
        " ".join(
            [
                one["key"],
                *(["agrees"] if one["agrees"] else []),
                *(r["key"] for r in one["reasons"]),
            ]
        )
        for one in found["checks"]
    ]
    return checks, found


# 10 GiB are 187,232 tokens of Qwen2.5-7B in bf16 and 374,480 in fp8 or over two GPUs, and 81,920 of
# Llama-3.1-8B: whole blocks of 16 tokens of 57,344 and 131,072 bytes.
BF16, FP8 = pool(187_232, "5.71"), pool(374_480, "11.43")
PLAIN = engine() + BF16


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (PLAIN + engine(kv_cache_dtype="fp8") + FP8, [(QWEN, 1, "bfloat16"), (QWEN, 1, "fp8")]),
        (engine(kv_cache_dtype="fp8") + FP8 + PLAIN, [(QWEN, 1, "fp8"), (QWEN, 1, "bfloat16")]),
        (
            PLAIN + engine(tensor_parallel_size=2) + FP8,
            [(QWEN, 1, "bfloat16"), (QWEN, 2, "bfloat16")],
        ),
        (
            engine(tensor_parallel_size=2) + FP8 + PLAIN,
            [(QWEN, 2, "bfloat16"), (QWEN, 1, "bfloat16")],
        ),
        (
            PLAIN + engine(LLAMA) + pool(81_920, "2.50"),
            [(QWEN, 1, "bfloat16"), (LLAMA, 1, "bfloat16")],
        ),
        (
            PLAIN + engine("acme/secret") + pool(99_984, "3.05"),
            [(QWEN, 1, "bfloat16"), (None, 1, None)],
        ),
        (
            PLAIN + engine(kv_cache_dtype="fp8") + FP8 + PLAIN,
            [(QWEN, 1, "bfloat16"), (QWEN, 1, "fp8"), (QWEN, 1, "bfloat16")],
        ),
        (PLAIN + "--kv-cache-dtype fp8\n" + FP8, [(QWEN, 1, "bfloat16"), (QWEN, 1, "fp8")]),
    ],
)
def test_each_start_up_is_held_against_its_own_settings(text, held):
    checks, found = told(text)
    starts = [(one["model"], one["tensor_parallel"], one["kv_dtype"]) for one in found["starts"]]
    assert starts == held
    assert found["status"] == "explained"
    known = sum(model is not None for model, _, _ in held)
    assert checks.count("pool agrees") == min(known, 2)  # equal checks are given once
    assert set(checks) == {"concurrency agrees", "pool agrees"}


def test_a_wrong_number_of_a_later_start_up_is_found():
    checks, found = told(PLAIN + engine(kv_cache_dtype="fp8") + BF16)
    assert (checks[-1], found["status"]) == ("pool", "contradicts")


def test_what_is_said_after_the_pool_begins_no_start_up_unless_it_is_another_setting():
    metrics = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="11702"} 1.0\n'
    assert len(told(PLAIN + metrics)[1]["starts"]) == 1
    assert len(told("\n".join([PLAIN] * 3))[1]["starts"]) == 3


@pytest.mark.parametrize(
    ("tokens", "times", "status"),
    [
        # As vLLM 0.33.0's planner has it for 10 GiB (claims.toml), and by groups: 27,306 blocks of
        # 12 layers × 16 × 2,048 bytes, halved.
        (386_840, "11.81", "explained"),
        (218_448, "11.81", "explained"),
        # More requests than blocks for the full layers, fewer than all layers in full would take.
        (218_448, "99999.00", "contradicts"),
        (218_448, "500.00", "contradicts"),
        (218_448, "13.40", "contradicts"),
        (218_448, "6.00", "contradicts"),
        (218_448, "0.01", "contradicts"),
        # 10 GiB ÷ 24,576 bytes of the full layers are 436,906 tokens; all layers hold half.
        (5_000_000, "152.59", "contradicts"),
        (440_000, "13.43", "contradicts"),
        (400_000, "12.21", "explained"),
        (210_000, "6.41", "contradicts"),
        (100, "0.00", "contradicts"),
    ],
)
def test_what_is_inferred_of_windows_is_within_what_the_layout_allows(tokens, times, status):
    assert told(pool(tokens, times), OSS)[1]["status"] == status


def test_without_a_model_nothing_is_compared_and_it_says_so():
    checks, found = told(pool(218_448, "99999.00"))
    assert (checks, found["status"]) == ([], "explained")
    assert [note["line"] for note in found["not_compared"]] == [3]
    assert told(pool(218_448, "6.67"))[1]["not_compared"] == []


@pytest.mark.parametrize(
    ("model", "memory", "tokens", "times"),
    [
        # Blocks of the memory ÷ groups × 16: 2 groups of 12 layers; 7 groups of 10. A request of
        # 131,072 tokens and 8,192 a step: 8,192 + 521 blocks; 8,192 + 6 × 577.
        (OSS, "55.90", 1_221_152, "17.52"),
        (GEMMA, "20.00", 37_440, "1.41"),
    ],
)
def test_an_old_release_divides_the_blocks_among_the_groups(model, memory, tokens, times):
    lines = pool(tokens, times, 131_072, memory)
    for version in ("0.11.0", "0.25.0"):
        checks, _ = told(engine(model, version) + lines)
        assert checks == ["concurrency agrees shared_pages", "plan agrees tokens_by_group"]
    checks, _ = told(engine(model, "0.33.0") + lines)
    assert "tokens_by_group" not in " ".join(checks)


def test_a_release_that_divides_by_groups_is_not_held_against_the_planning_of_another():
    lines = pool(218_448, "11.81")
    assert "plan agrees tokens_by_group" in told(engine(OSS, "0.11.0") + lines)[0]
    # All layers in full, as the concurrency says too, is another thing than blocks by groups.
    checks, _ = told(engine(OSS, "0.11.0") + pool(218_448, "6.67"))
    assert checks[1] == "pool agrees windows_as_full"


def test_a_public_log_of_states_is_blocks_by_groups():
    """vLLM 0.20.1: 53,312 tokens are 34 blocks of 1,568 in each of four groups, for 139 blocks of
    16 layers. A block of 1,568 tokens that pads a state by 0.13% is of the 27B's shape in fp8."""
    text = "Setting attention block size to 1568 tokens\n" + pool(53_312, "5.15", memory="6.67")
    checks, _ = told("kv_cache_dtype=fp8\n" + text, "Qwen/Qwen3.5-27B")
    assert checks == ["concurrency agrees shared_pages", "plan agrees tokens_by_group"]


OVERRIDE = "Overriding num_gpu_blocks=11702 with num_gpu_blocks_override=100\n"


def test_blocks_that_are_set_by_hand():
    checks, found = told(OVERRIDE + engine() + pool(1_600, "0.05"))
    assert checks == ["blocks agrees blocks_by_hand", "concurrency agrees", "pool agrees"]
    assert found["readings"][0]["key"] == "vllm.override"
    checks, found = told(OVERRIDE + engine() + pool(1_616, "0.05"))
    assert (checks[0], found["status"]) == ("blocks", "contradicts")


def test_blocks_that_are_set_by_hand_for_a_model_with_windows():
    # 4,626 blocks are two requests of 2,313 (32,768 tokens, 2,048 a step).
    text = OVERRIDE.replace("=100", "=4626") + engine(OSS) + pool(65_536, "2.00")
    assert told(text)[0] == ["concurrency agrees", "plan agrees shared_pages"]
    assert told(text.replace("65,536", "75,536"))[1]["status"] == "contradicts"


@pytest.mark.parametrize(
    "said",
    [
        engine(DEEPSEEK, tensor_parallel_size=8, decode_context_parallel_size=8),
        engine(DEEPSEEK, tensor_parallel_size=8)
        + "Multiplying the GPU KV cache size by the cp_world_size 8 (pcp_world_size 1 * "
        "dcp_world_size 8).\n",
    ],
)
def test_the_tokens_of_a_latent_spread_over_the_ranks(said):
    # 9,549 blocks of 16 tokens of 61 × 1,152 bytes, on each of eight ranks.
    checks, found = told(said + pool(9_549 * 16 * 8))
    assert checks == ["pool decode_context"]
    assert found["checks"][0]["or"] == []
    assert told(engine(DEEPSEEK, tensor_parallel_size=8) + pool(1_222_272))[0] == ["pool"]


def test_memory_of_one_gpu_and_tokens_of_all_are_what_they_say():
    """Half of the tokens that two GPUs hold: not "one GPU against all", both lines say of what."""
    checks, found = told(engine(tensor_parallel_size=2) + BF16)
    assert (checks[-1], found["status"]) == ("pool", "contradicts")


SGLANG = (
    "[TP0] KV Cache is allocated. #tokens: 160000, K size: 1.83 GB, V size: 1.83 GB\n"
    "[TP0] KV Cache is allocated. #tokens: 200000, K size: 2.29 GB, V size: 2.29 GB\n"
)
APART = "[TP0] Use sliding window memory pool. full_layer_tokens=200000, swa_layer_tokens=160000\n"


@pytest.mark.parametrize(
    "text", [APART + SGLANG, APART.replace("sliding", "Sliding") + SGLANG, SGLANG]
)
def test_sglangs_pools_of_a_model_with_windows(text):
    """12 of 24 layers each, of 8 × 64 keys in 16 bits: 12,288 bytes."""
    checks, found = told(text, OSS)
    apart = "agrees pools_apart gib_called_gb"
    assert checks == [f"keys {apart}", f"values {apart}"] * 2
    assert {check["formula"] for check in found["checks"]} == {12_288}
    assert told(text.replace("1.83", "1.23"), OSS)[1]["status"] == "contradicts"


def test_a_llama_cpp_cache_with_other_layers_is_another_models():
    line = (
        "llama_kv_cache: size = {} MiB (4096 cells, {} layers, 2/2 seqs), K (f16): {} MiB, "
        "V (f16): {} MiB\n"
    )
    text = line.format("224.00", 28, "112.00", "112.00") + line.format(
        "48.00", 24, "24.00", "24.00"
    )
    checks, found = told(text, QWEN)
    assert (checks, found["status"]) == (["cache agrees slots"], "explained")
    assert [note["line"] for note in found["not_compared"]] == [2]
    # A wrong size of its own cache is still found.
    assert told(line.format("48.00", 28, "24.00", "24.00"), QWEN)[1]["status"] == "contradicts"


def test_windows_in_another_engine_lie_between_full_layers_and_all():
    line = "[TensorRT-LLM][INFO] Allocated {} GiB for max tokens in paged KV cache (200000).\n"
    # 24,576 bytes of the full layers and 49,152 of all, for 200,000 tokens: 4.58 and 9.16 GiB.
    assert told(line.format("6.00"), OSS)[0] == ["pool windows_in_part"]
    for size in ("4.00", "20.00"):
        assert told(line.format(size), OSS)[1]["status"] == "contradicts"


def test_start_ups_that_are_alike_are_said_once():
    def head(text):
        return str(explain(text)).partition("\n\n")[0]

    plain = f"held against {QWEN}, cache in bfloat16: 57,344 bytes per token"
    assert head(PLAIN + PLAIN).splitlines()[1:] == [plain]
    fp8 = f"held against {QWEN}, cache in fp8: 28,672 bytes per token"
    assert head(PLAIN + engine(kv_cache_dtype="fp8") + FP8).splitlines()[1:] == [
        f"from line 1 {plain}",
        f"from line 5 {fp8}",
    ]


def logs(count):
    """Logs as vLLM's rules have them, of every model in the snapshot, with what a log may leave out
    left out. The planner they come from is held against vLLM's own (tests/engines)."""
    dice = random.Random(5)
    for _ in range(count):
        model = snapshot.load(dice.choice(snapshot.ids()))
        tp, length = dice.choice([1, 2, 8]), dice.choice([512, 2048, 32_768, 131_072])
        batch, early = dice.choice([512, 4096, 8192, 16_384]), dice.random() < 0.4
        try:
            state = rank_state(model.config, tp, model.id, dice.random() < 0.5)
            options = Options(
                tensor_parallel_size=tp,
                max_num_batched_tokens=batch,
                async_scheduling=not early,
                state=state,
            )
            found = Pool.of(model.layout, options)
        except ValueError:  # ranks that cannot share the heads
            continue
        memory = round(dice.uniform(1, 60), 2)
        blocks = found.blocks(int((memory + dice.uniform(-0.0049, 0.0049)) * 2**30))
        times = blocks / found.request_blocks(length)
        block = min(page.block_size for group in found.groups for _, page in group.pages)
        tokens = blocks // len(found.groups) * block if early else int(times * length)
        settings = {"tensor_parallel_size": tp, "max_seq_len": length}
        if dice.random() < 0.3:
            settings["max_num_batched_tokens"] = batch
        version = "0.11.0" if early else "0.33.0"
        said = f"{times:.2f}" if dice.random() < 0.8 else None
        if times > 1:
            text = engine(model.id, version, **settings)
            yield text + pool(tokens, said, length, f"{memory:.2f}")


def test_a_start_up_says_what_vllm_makes_of_the_memory_printed():
    """10 GiB are 11,702 blocks of 16 tokens of 57,344 bytes; a request takes 2,048 of them."""
    (start,) = told(PLAIN)[1]["starts"]
    plan = start["planned"]
    assert (plan["engine"], plan["max_model_len"]) == ("vLLM 0.33.0", 32_768)
    assert (plan["available_bytes"], plan["block_bytes"]) == (10 * 2**30, 16 * 57_344)
    assert (plan["blocks"], plan["pool_tokens"], plan["sequences"]) == (11_702, 187_232, 5)
    assert round(plan["max_concurrency"], 2) == 5.71
    said = "vLLM 0.33.0 makes of 10,737,418,240 bytes: 11,702 blocks of 917,504 bytes, 187,232"
    assert f"\n\n{said}\n" in str(explain(PLAIN))


def test_the_plan_is_said_to_be_of_0_33_where_the_log_is_of_another_release():
    text = engine(OSS, "0.11.0") + pool(218_448, "11.81")
    (start,) = told(text)[1]["starts"]
    # As vLLM 0.33.0's planner has it for 10 GiB (claims.toml), not what 0.11.0 printed.
    assert (start["version"], start["planned"]["pool_tokens"]) == ("0.11.0", 386_840)
    assert "\n\n(the log is of 0.11.0) vLLM 0.33.0 makes of" in str(explain(text))


def test_each_start_up_has_a_plan_of_its_own():
    found = explain(PLAIN + engine(kv_cache_dtype="fp8") + FP8)
    tokens = [start["planned"]["pool_tokens"] for start in found.as_json()["starts"]]
    assert tokens == [187_232, 374_480]
    assert "\n\nfrom line 5 vLLM 0.33.0 makes of" in str(found)


def test_what_vllm_refuses_is_said_with_its_reason():
    text = engine("Qwen/Qwen2.5-0.5B-Instruct", tensor_parallel_size=4) + BF16
    refused = told(text)[1]["starts"][0]["planned"]["refused"]
    assert "14 attention heads cannot be divided by 4" in refused
    assert "vLLM 0.33.0 refuses 4 tensor-parallel ranks" in str(explain(text))


@pytest.mark.parametrize(
    "text",
    [
        engine("acme/secret") + BF16,  # no model
        "LLM engine (v0.33.0) with config: model='Qwen/Qwen2.5-7B-Instruct'\n" + pool(187_232),
        engine() + "GPU KV cache size: 187,232 tokens\n",  # no memory
        f"model_path={QWEN} context_length=4096\n#tokens: 187232, KV size: 10.00 GB\n",
    ],
)
def test_without_model_length_memory_or_vllm_there_is_no_plan(text):
    assert [start["planned"] for start in told(text)[1]["starts"]] == [None]


def test_what_vllm_prints_contradicts_in_no_model():
    wrong = [text for text in logs(200) if told(text)[1]["status"] != "explained"]
    assert wrong == []


def test_ten_times_what_vllm_prints_contradicts_in_every_model():
    """Beyond every bound, and no reason's factor. Not so where a request's room hardly depends on
    its length: an encoder's output, and windows in every layer."""

    def times_ten(text):
        return re.sub(
            r"size: ([\d,]+)", lambda m: f"size: {int(m[1].replace(',', '')) * 10:,}", text
        )

    def all_slide(text):
        layout = snapshot.load(told(text)[1]["model"]).layout
        return all(part.window for layer in layout.layers for part in layer.parts)

    bounded = [text for text in logs(200) if "whisper" not in text and not all_slide(text)]
    wrong = [text for text in map(times_ten, bounded) if told(text)[1]["status"] == "explained"]
    assert len(bounded) > 100
    assert wrong == []


def test_the_labels_of_a_metric_end_where_the_next_would_begin():
    """Else a line that repeats a metric's name and brace is read again from each of them."""
    for phrase in phrases():
        for text in phrase.also:
            assert not re.search(r"\[\^\}", text), phrase.key
