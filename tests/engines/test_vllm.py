"""vLLM 0.33.0's accounting, against figures its own planner printed."""

import pytest

from kvdocs.engines.vllm.pool import Options, Plan, Pool, rank_slope
from kvdocs.formula import CacheLayout
from kvdocs.formula.layers import FullAttention, Latent, SlidingWindow

GIB = 2**30
QWEN = CacheLayout((FullAttention(4, 128, 128),) * 28)
LLAMA = CacheLayout((FullAttention(8, 128, 128),) * 32)
DEEPSEEK = CacheLayout((Latent(512, 64),) * 61)
GEMMA = CacheLayout(
    (*[SlidingWindow(16, 128, 128, 1024)] * 52, *[FullAttention(16, 128, 128)] * 10)
)
GPT_OSS = CacheLayout((SlidingWindow(8, 64, 64, 128), FullAttention(8, 64, 64)) * 12)

# Layout, bytes a token summed over layers, bytes a block, blocks, tokens, concurrency: printed by
# vLLM 0.33.0's planner for 10 GiB, limit 32,768, block 16, bf16, 2,048 batched tokens, async.
PRINTED = [
    pytest.param(QWEN, 57_344, 917_504, 11_702, 187_232, "5.71", id="Qwen2.5-7B"),
    pytest.param(LLAMA, 131_072, 2_097_152, 5_120, 81_920, "2.50", id="Llama-3.1-8B"),
    pytest.param(DEEPSEEK, 70_272, 1_124_352, 9_549, 152_784, "4.66", id="DeepSeek-V3"),
    pytest.param(GEMMA, 507_904, 1_310_720, 8_192, 67_547, "2.06", id="Gemma-3-27B"),
    pytest.param(GPT_OSS, 49_152, 393_216, 27_306, 386_840, "11.81", id="gpt-oss-20b"),
]


@pytest.mark.parametrize(("layout", "token", "block", "blocks", "tokens", "concurrency"), PRINTED)
def test_what_the_planner_printed(layout, token, block, blocks, tokens, concurrency):
    found = Pool.of(layout, Options()).plan(10 * GIB, 32_768)
    assert layout.slope() == token
    assert (found.block_bytes, found.blocks, found.pool_tokens) == (block, blocks, tokens)
    assert f"{found.max_concurrency:.2f}" == concurrency


def test_the_printed_start_up_error():
    """vLLM's: 7.0 GiB needed for 131,072 tokens, 6.15 GiB available, longest 115,072."""
    found = Pool.of(QWEN, Options()).plan(6_600_000_000, 131_072)
    assert not found.starts
    assert found.needed_bytes == 7 * GIB
    assert found.longest == 115_072


@pytest.mark.parametrize(("limit", "concurrency"), [(4_096, "28.10"), (32_768, "3.51")])
def test_a_lower_limit_raises_the_logged_concurrency_but_not_the_pool(limit, concurrency):
    found = Pool.of(QWEN, Options()).plan(6_600_000_000, limit)
    assert found.blocks == Pool.of(QWEN, Options()).plan(6_600_000_000, 1).blocks
    assert f"{found.max_concurrency:.2f}" == concurrency


def test_beyond_the_kv_heads_ranks_hold_copies():
    def slope(ranks):
        return rank_slope(QWEN, Options(tensor_parallel_size=ranks))

    assert [slope(ranks) for ranks in (1, 2, 4, 8)] == [57_344, 28_672, 14_336, 14_336]


def test_a_latent_is_whole_on_every_rank_unless_context_is_split():
    def pool(dcp):
        options = Options(tensor_parallel_size=8, decode_context_parallel_size=dcp)
        return rank_slope(DEEPSEEK, options), Pool.of(DEEPSEEK, options).request_blocks(4096)

    assert pool(1) == (70_272, 256)
    assert pool(8) == (70_272, 32)


@pytest.mark.parametrize(
    ("dtype", "share"),
    [
        ("fp8", 0.5),
        ("int8_per_token_head", 0.515625),
        ("int4_per_token_head", 0.265625),
        ("nvfp4", 0.28125),
    ],
)
def test_the_share_of_16_bits_a_dtype_takes(dtype, share):
    """As vLLM's spec classes gave for head_dim 128."""
    assert rank_slope(QWEN, Options(kv_cache_dtype=dtype)) == 57_344 * share


def test_a_latent_in_fp8_ds_mla_takes_656_bytes_a_layer():
    assert rank_slope(DEEPSEEK, Options(kv_cache_dtype="fp8_ds_mla")) == 61 * 656


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tensor_parallel_size": 3}, "4 KV heads cannot be shared by 3 ranks"),
        ({"kv_cache_dtype": "int8"}, "no --kv-cache-dtype 'int8'"),
        ({"kv_cache_dtype": "fp8_ds_mla"}, "not KV heads"),
        ({"pipeline_parallel_size": 29}, "28 layers cannot be split over 29"),
        (
            {"tensor_parallel_size": 4, "decode_context_parallel_size": 3},
            "must divide --tensor-parallel-size 4",
        ),
        (
            {"tensor_parallel_size": 4, "decode_context_parallel_size": 2},
            "copies of KV heads",
        ),
    ],
)
def test_what_vllm_refuses_is_refused_with_the_flag(options, words):
    with pytest.raises(ValueError, match=words):
        Pool.of(QWEN, Options(**options))


def test_too_little_memory_is_a_plan_that_does_not_start():
    found = Pool.of(QWEN, Options()).plan(0, 4096)
    assert found == Plan(0, 917_504, 256, 256, 0, 0.0, False, 256 * 917_504, 0)
    assert found.sequences == 0
