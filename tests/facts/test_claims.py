"""The cited facts: complete, refused when incomplete, and consistent with each other."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from kvdocs.facts.claims import Claim, claim, load_claims
from kvdocs.facts.gpus import gpu_named, load_gpus
from kvdocs.facts.tables import column, tables
from kvdocs.literal import Literal

CLAIMS = load_claims()
GPUS = load_gpus()
GIB = 1024**3
FACTS = Path(__file__).parents[2] / "kvdocs" / "facts"

PLANNED = ("qwen2_5_7b", "llama_3_1_8b", "deepseek_v3", "gemma_3_27b", "gpt_oss_20b")
HYBRID = ("gemma_3_27b", "gpt_oss_20b")
PLAIN = tuple(name for name in PLANNED if name not in HYBRID)

GOOD_CLAIM = {
    "value": "16",
    "says": '"A block holds 16 tokens."',
    "version": '"vLLM 0.33.0"',
    "source": '"config/cache.py:185"',
    "checked": '"2026-11-29"',
    "how": '"read"',
}
GOOD_GPU = {
    "name": '"Tesla T4"',
    "sold_as": '"16 GB"',
    "memory_mib": "15360",
    "memory_source": '"a log"',
    "compute_capability": '"7.5"',
    "capability_source": '"a table"',
    "fp8_arithmetic": "false",
}


def number(key: str) -> float:
    """The value of a claim that is a number."""
    value = CLAIMS[key].value
    assert type(value) in (int, float), f"{key} is {value!r}"
    return float(value)


def amount(key: str) -> Fraction:
    """The value of a claim that is a text with a memory unit, in bytes."""
    literal = Literal.parse(str(CLAIMS[key].value))
    return literal.number * literal.scale


def write(path: Path, name: str, fields: dict[str, str]) -> Path:
    """A TOML file with one table."""
    path.write_text("\n".join([f"[{name}]", *(f"{k} = {v}" for k, v in fields.items())]))
    return path


# Every leaf of the two files


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_says_what_it_means_in_one_sentence(claim: Claim) -> None:
    assert claim.says.endswith(".")
    assert ". " not in claim.says
    if isinstance(claim.value, bool):
        assert claim.says.startswith(f"{claim.value}: ")
    elif isinstance(claim.value, int | float):
        shown = {f"{claim.value:,}", f"{claim.value:,.2f}"}
        assert any(text in claim.says for text in shown), f"{claim.value} not in {claim.says!r}"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_source_names_a_line_or_an_address(claim: Claim) -> None:
    places = claim.source.split(" in the ")[0].split("; ")
    for place in places:
        line = place.rpartition(":")[2]
        assert "https://" in place or line.isdigit(), f"{place!r} has no line and no address"


def test_a_memory_value_can_be_read_as_one() -> None:
    units = ("KiB", "MiB", "GiB", "bytes")
    texts = [str(c.value) for c in CLAIMS.values() if str(c.value).split(" ")[-1] in units]
    with_unit = [text for text in texts if text[0].isdigit()]
    assert len(with_unit) > 20
    for text in with_unit:
        assert Literal.parse(text).number > 0


# What a file gives, and what a broken one is told


def test_a_claim_comes_back_as_written(tmp_path: Path) -> None:
    path = write(tmp_path / "claims.toml", "vllm.block_size.default", GOOD_CLAIM)
    key = "vllm.block_size.default"
    says, source = "A block holds 16 tokens.", "config/cache.py:185"
    expected = Claim(key, 16, says, "vLLM 0.33.0", source, "2026-11-29", "read")
    assert load_claims(path) == {key: expected}


@pytest.mark.parametrize("field", GOOD_CLAIM)
def test_a_claim_without_a_field_is_refused(tmp_path: Path, field: str) -> None:
    fields = {k: v for k, v in GOOD_CLAIM.items() if k != field}
    path = write(tmp_path / "claims.toml", "vllm.block_size.default", fields)
    with pytest.raises(ValueError, match="missing field") as caught:
        load_claims(path)
    assert str(caught.value) == f"{path}: vllm.block_size.default: missing field {field!r}"


@pytest.mark.parametrize(
    ("field", "text", "complaint"),
    [
        ("value", "[16]", "field 'value' is [16], not bool or int or float or str"),
        ("says", "7", "field 'says' is 7, not str"),
        ("says", '""', "field 'says' is empty"),
        ("checked", '"soon"', "field 'checked' is not a date"),
        ("how", '"guessed"', "field 'how' is 'guessed', not one of read, run"),
        ("note", '"x"', "unknown field 'note'"),
    ],
)
def test_a_wrong_claim_is_refused(tmp_path: Path, field: str, text: str, complaint: str) -> None:
    path = write(tmp_path / "claims.toml", "vllm.x", {**GOOD_CLAIM, field: text})
    with pytest.raises(ValueError, match="field") as caught:
        load_claims(path)
    assert str(caught.value).startswith(f"{path}: vllm.x: {complaint}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[vllm.x]", "vllm.x: missing field 'value'"),
        ("vllm = 1", "line 1: is 'vllm = 1', not a field of a table"),
        ("[vllm.x]\n\nvalue", "line 3: is 'value', not a field of a table"),
        ("[vllm", "line 1: is '[vllm', not a field of a table"),
        ("[vllm.x]\n[vllm.x]", "line 2: a second table 'vllm.x'"),
        ("[vllm.x]\nsays = 1\nsays = 2", "line 3: a second 'says'"),
        ("[vllm.x]\nchecked = 2026-11-29", "line 2: field 'checked' is '2026-11-29', not a number"),
        ("[vllm.x]\nsays = 'a text'", "line 2: field 'says' is \"'a text'\", not a number"),
        ("[vllm.x]\nmore = {value = 1}", "line 2: field 'more' is '{value = 1}', not a number"),
    ],
)
def test_a_file_without_claims_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"claims\.toml") as caught:
        load_claims(path)
    assert str(caught.value).startswith(f"{path}: {complaint}")


@pytest.mark.parametrize("name", ["facts/claims", "facts/gpus", "explain/reasons"])
def test_lines_say_what_all_of_toml_says(name: str) -> None:
    path = FACTS.parent / f"{name}.toml"
    flat = {}
    todo = list(tomllib.loads(path.read_text(encoding="utf-8")).items())
    for key, table in todo:
        fields = {name: value for name, value in table.items() if not isinstance(value, dict)}
        todo += [(f"{key}.{name}", table[name]) for name in table if name not in fields]
        flat |= {key: fields} if fields else {}
    assert tables(path) == flat


def test_one_field_of_every_table_is_the_same_as_in_whole_tables() -> None:
    path = FACTS / "gpus.toml"
    assert column(path, "name") == {key: table["name"] for key, table in tables(path).items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nname = "x"\n\n[b]\n', "b: missing field 'name'"),
        ('[a]\nname = "x"\n\n[a]\nname = "y"\n', "a second table 'a'"),
        ("[a]\nname = x\n", "a: field 'name' is 'x', not a number"),
    ],
)
def test_a_field_that_some_table_does_not_say_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {said}")):
        column(path, "name")


@pytest.mark.parametrize("key", CLAIMS)
def test_one_claim_alone_is_the_same_as_among_all(key: str) -> None:
    assert claim(key) == CLAIMS[key]


def test_a_claim_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"claims\.toml: no claim is called 'vllm\.x'"):
        claim("vllm.x")


def test_an_error_in_one_claim_names_its_line_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text("[a]\nvalue = 1\n\n[b]\n# why\nsays\n\n[c]\nvalue = 2\n")
    with pytest.raises(ValueError, match=r"claims\.toml: line 6: is 'says'"):
        claim("b", path)


@pytest.mark.parametrize("field", GOOD_GPU)
def test_a_gpu_without_a_field_is_refused(tmp_path: Path, field: str) -> None:
    fields = {k: v for k, v in GOOD_GPU.items() if k != field}
    path = write(tmp_path / "gpus.toml", "t4", fields)
    with pytest.raises(ValueError, match="missing field") as caught:
        load_gpus(path)
    assert str(caught.value) == f"{path}: t4: missing field {field!r}"


@pytest.mark.parametrize(
    ("field", "text", "complaint"),
    [
        ("memory_mib", "-1", "field 'memory_mib' is -1, not above 0"),
        ("memory_mib", "true", "field 'memory_mib' is True, not int"),
        ("memory_mib", "15360.0", "field 'memory_mib' is 15360.0, not int"),
        ("compute_capability", "7.5", "field 'compute_capability' is 7.5, not str"),
        ("also_sold_as", "[]", "field 'also_sold_as' is empty"),
        ("price", "1", "unknown field 'price'"),
    ],
)
def test_a_wrong_gpu_is_refused(tmp_path: Path, field: str, text: str, complaint: str) -> None:
    path = write(tmp_path / "gpus.toml", "t4", {**GOOD_GPU, field: text})
    with pytest.raises(ValueError, match="t4") as caught:
        load_gpus(path)
    assert str(caught.value) == f"{path}: t4: {complaint}"


# Do the numbers agree with each other?


@pytest.mark.parametrize("model", PLANNED)
def test_the_planner_cuts_the_pool_into_whole_blocks(model: str) -> None:
    per_block = amount(f"vllm.planner.{model}.bytes_per_block")
    assert number(f"vllm.planner.{model}.blocks") == 10 * GIB // per_block


@pytest.mark.parametrize("model", PLAIN)
def test_a_block_of_a_plain_model_holds_16_tokens_of_every_layer(model: str) -> None:
    at = f"vllm.planner.{model}"
    block = number("vllm.planner.setup.block_size")
    assert amount(f"{at}.bytes_per_block") == block * amount(f"{at}.bytes_per_token")
    assert number(f"{at}.tokens") == block * number(f"{at}.blocks")


@pytest.mark.parametrize("model", HYBRID)
def test_the_logged_tokens_of_a_hybrid_model_are_not_its_blocks_times_16(model: str) -> None:
    at = f"vllm.planner.{model}"
    assert number(f"{at}.tokens") != 16 * number(f"{at}.blocks")


@pytest.mark.parametrize("model", PLANNED)
def test_the_logged_concurrency_is_the_tokens_over_the_limit(model: str) -> None:
    at = f"vllm.planner.{model}"
    limit = number("vllm.planner.setup.max_model_len")
    assert number(f"{at}.concurrency") == round(number(f"{at}.tokens") / limit, 2)


@pytest.mark.parametrize(
    ("model", "elements"),
    [
        ("qwen2_5_7b", 28 * 4 * (128 + 128)),
        ("llama_3_1_8b", 32 * 8 * (128 + 128)),
        ("deepseek_v3", 61 * (512 + 64)),
        ("gemma_3_27b", 62 * 16 * (128 + 128)),
        ("gpt_oss_20b", 24 * 8 * (64 + 64)),
    ],
)
def test_a_token_takes_two_bytes_an_element(model: str, elements: int) -> None:
    assert amount(f"vllm.planner.{model}.bytes_per_token") == 2 * elements


def test_the_startup_log_repeats_the_planner() -> None:
    line = str(CLAIMS["vllm.startup_log.capacity"].value)
    assert f"{number('vllm.planner.qwen2_5_7b.tokens'):,.0f} tokens" in line
    assert line.endswith(f"{number('vllm.planner.qwen2_5_7b.concurrency')}x")


@pytest.mark.parametrize("limit", [4096, 32768])
def test_the_experiment_on_max_model_len_follows_from_its_pool(limit: int) -> None:
    at = "vllm.max_model_len.experiment"
    per_block = amount("vllm.planner.qwen2_5_7b.bytes_per_block")
    blocks = amount(f"{at}.pool") // per_block
    usable = blocks - number("vllm.blocks_held_back")
    blocks_each = -(-number(f"{at}.prompt_tokens") // 16)
    assert number(f"{at}.admitted_at_{limit}") == usable // blocks_each
    assert number(f"{at}.logged_at_{limit}") == round(float(blocks * 16 / limit), 2)


def test_the_startup_error_adds_up() -> None:
    at = "vllm.startup_error"
    text = str(CLAIMS[f"{at}.text"].value)
    per_token = amount("vllm.planner.qwen2_5_7b.bytes_per_token")
    assert f"({number(f'{at}.limit'):.0f})" in text
    assert f"({CLAIMS[f'{at}.needed'].value} KV cache is needed" in text
    assert f"({CLAIMS[f'{at}.available'].value})" in text
    assert f"length is {number(f'{at}.longest'):.0f}." in text
    assert number(f"{at}.limit") * per_token == amount(f"{at}.needed")
    pool = amount("vllm.max_model_len.experiment.pool")
    usable = pool // (16 * per_token) - number("vllm.blocks_held_back")
    assert number(f"{at}.longest") == usable * 16


@pytest.mark.parametrize(("dtype", "size"), [("bf16", 2), ("fp8", 1)])
def test_the_published_l4_run_agrees_with_the_formula(dtype: str, size: int) -> None:
    at = f"vllm.published_l4.{dtype}"
    per_token = 36 * 8 * (128 + 128) * size  # Qwen3-4B: 36 layers, 8 KV heads of 128
    memory = Literal.parse(str(CLAIMS["vllm.published_l4.cache_memory"].value))
    assert memory.rewrite(int(number(f"{at}.tokens")) * per_token) == memory.text
    limit = number("vllm.published_l4.max_model_len")
    assert number(f"{at}.concurrency") == round(number(f"{at}.tokens") / limit, 2)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("int8", 8), ("fp8", 8), ("int4", 4)], ids=["int8", "fp8", "int4"]
)
def test_a_scale_for_every_token_and_head_is_four_bytes(dtype: str, bits: int) -> None:
    head = 128
    ratio = Fraction(head * bits + 4 * 8, head * 16)
    assert number(f"vllm.kv_cache_dtype.{dtype}_per_token_head.ratio") == ratio


def test_nvfp4_keeps_one_byte_for_sixteen_elements() -> None:
    assert number("vllm.kv_cache_dtype.nvfp4.ratio") == Fraction(16 * 4 + 8, 16 * 16)


def test_the_latent_cache_is_576_elements() -> None:
    assert amount("vllm.kv_cache_dtype.latent.bf16") == 576 * 2
    assert amount("vllm.kv_cache_dtype.latent.fp8") == 576
    # 512 elements in 8 bits, a 4-byte scale for every 128 of them, 64 elements in 16 bits
    assert amount("vllm.kv_cache_dtype.latent.fp8_ds_mla") == 512 + 4 * 4 + 64 * 2


def test_beyond_the_kv_heads_tensor_parallel_ranks_hold_copies() -> None:
    at = "vllm.tensor_parallel"
    one = amount(f"{at}.qwen2_5_7b.one_gpu")
    each = amount(f"{at}.qwen2_5_7b.each_of_8")
    assert one == amount("vllm.planner.qwen2_5_7b.bytes_per_token")
    assert each == one / 4
    assert amount(f"{at}.qwen2_5_7b.all_8") == 8 * each
    assert amount(f"{at}.deepseek_v3.each_gpu") == amount(
        "vllm.planner.deepseek_v3.bytes_per_token"
    )


def test_gemma_is_padded_to_whole_groups_of_ten_layers() -> None:
    padding = number("vllm.hybrid.gemma_3_27b.padding_layers")
    assert padding == -52 % 10
    lost = Literal.parse(str(CLAIMS["vllm.hybrid.gemma_3_27b.most_lost"].value))
    assert lost.rewrite(Fraction(int(padding), 52)) == lost.text


def test_only_whole_blocks_before_the_last_token_are_reused() -> None:
    at = "vllm.prefix_caching.experiment"
    prompt = int(number(f"{at}.prompt_tokens"))
    assert number(f"{at}.reused_tokens") == (prompt - 1) // 16 * 16


@pytest.mark.parametrize(
    ("model", "elements_per_token"),
    [
        ("qwen2_5_0_5b", 24 * 2 * 64),
        ("qwen2_5_7b", 28 * 4 * 128),
        ("llama_3_1_8b", 32 * 8 * 128),
    ],
)
@pytest.mark.parametrize(
    ("column", "keys", "values"),
    [
        ("f16", "f16", "f16"),
        ("q8_0", "q8_0", "q8_0"),
        ("q4_0", "q4_0", "q4_0"),
        ("q8_0_k_q4_0_v", "q8_0", "q4_0"),
    ],
)
def test_llama_cpp_logs_bits_times_elements(
    model: str, elements_per_token: int, column: str, keys: str, values: str
) -> None:
    bits = sum(number(f"llama_cpp.bits_per_element.{kind}") for kind in (keys, values))
    expected = elements_per_token * 4096 * bits / 8
    assert amount(f"llama_cpp.cache_4096.{model}.{column}") == expected


def test_llama_cpp_rounds_the_context_up() -> None:
    padding = int(number("llama_cpp.n_ctx_padding"))
    assert number("llama_cpp.n_ctx_4000_becomes") == -(-4000 // padding) * padding


# Cards


@pytest.mark.parametrize("key", GPUS)
def test_fp8_arithmetic_follows_from_the_compute_capability(key: str) -> None:
    least = str(CLAIMS["vllm.fp8.arithmetic_capability"].value)
    able = [tuple(map(int, text.split("."))) for text in (GPUS[key].compute_capability, least)]
    assert GPUS[key].fp8_arithmetic == (able[0] >= able[1])


@pytest.mark.parametrize(
    ("claim", "gpu"),
    [
        ("t4", "t4"),
        ("a100", "a100_80gb"),
        ("rtx_3090", "rtx_3090"),
        ("l4", "l4"),
        ("rtx_4090", "rtx_4090"),
        ("h100", "h100_80gb"),
    ],
)
def test_both_files_give_a_card_the_same_capability(claim: str, gpu: str) -> None:
    assert CLAIMS[f"nvidia.{claim}.compute_capability"].value == GPUS[gpu].compute_capability


@pytest.mark.parametrize("key", GPUS)
def test_a_card_reports_about_what_it_is_sold_with(key: str) -> None:
    sold = int(GPUS[key].sold_as.removesuffix(" GB"))
    assert 0.93 * sold < GPUS[key].memory_mib / 1024 < 1.03 * sold


@pytest.mark.parametrize("key", GPUS)
def test_a_card_sold_in_other_sizes_is_asked_for_its_size(key: str) -> None:
    """By its own figure it is found; by a name without one only where there is no other."""
    card = GPUS[key]
    assert gpu_named(key) == gpu_named(card.name) == card
    bare = key.removesuffix(f"_{card.sold_as.lower().replace(' ', '')}")
    if card.also_sold_as:
        assert bare != key
        with pytest.raises(ValueError, match=f"{card.also_sold_as[0]} and with {card.sold_as}"):
            gpu_named(bare)
    else:
        assert gpu_named(bare) == card


def test_the_a100_alone_is_listed_under_one_of_two_sizes() -> None:
    assert {key: card.also_sold_as for key, card in GPUS.items() if card.also_sold_as} == {
        "a100_80gb": ("40 GB",)
    }
