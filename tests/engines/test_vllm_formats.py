"""What vLLM 0.33.0 makes of auto, a format and the weights, for a model on a card.

`make test-engines` asks vLLM's own functions about every model of the snapshot.
"""

import pytest

from kvdocs.engines.vllm.architectures import no_class
from kvdocs.engines.vllm.pool import Options, Pool
from kvdocs.engines.weights import weights_in
from kvdocs.facts.models import Model, Source
from kvdocs.facts.snapshot import load
from kvdocs.fit.answer import Question, fit, what_helps
from kvdocs.fit.options import question
from kvdocs.formula import CacheLayout
from kvdocs.formula.compressed import Compressed

GIB = 2**30
V32, GLM, GEMMA = "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5", "google/gemma-2-9b"


def on(card: str | None, name: str, **changes) -> Question:
    return question(load(name), gpu=card, **{"tokens": 4096, "available": 40 * GIB, **changes})


@pytest.mark.parametrize(
    ("card", "name", "dtype", "block"),
    [
        ("b200", GLM, "auto", 883_584),  # 78 layers × 16 × (576 + 132)
        ("h200", GLM, "auto", 78 * 16 * (1152 + 132)),
        ("h200", GLM, "fp8", 983_424),
        ("b200", V32, "auto", 1_253_184),
        ("b200", V32, "fp8", 691_008),
        ("h200", V32, "fp8", 769_088),
        ("h200", V32, "fp8_e4m3", 691_008),  # FlashInfer's, which keeps no scales
        (None, V32, "fp8", 769_088),  # as on Hopper
        ("rtx_5090", V32, "auto", 769_088),
        ("rtx_5090", V32, "bfloat16", 769_088),  # which vLLM takes for auto
    ],
)
def test_blocks_of_sparse_latents(card, name, dtype, block):
    assert fit(on(card, name, kv_dtype=dtype)).sure.block_bytes == block


@pytest.mark.parametrize("card", ["a100_80gb", "l4", "t4", "rtx_4090"])
def test_older_cards_have_no_kernel_for_sparse_latents(card):
    with pytest.raises(ValueError, match="no kernel"):
        fit(on(card, V32))


@pytest.mark.parametrize(
    ("card", "name", "size"),
    [
        ("l40s", GEMMA, 36_966_823_936 // 2),
        ("t4", GEMMA, 36_966_823_936),  # no bfloat16, and float16 refused
        ("t4", "google/gemma-3-1b-it", 2 * 1_999_771_904),
        ("l4", "google/gemma-3-1b-it", 1_999_771_904),
        ("t4", "Qwen/Qwen2.5-7B-Instruct", 15_231_233_024),  # float16
    ],
)
def test_weights_as_vllm_loads_them(card, name, size):
    assert on(card, name).on.held_weights()[0] == size


def test_a_card_without_bfloat16_doubles_the_cache_of_gemma():
    now, other = (fit(on(card, GEMMA)).sure.block_bytes for card in ("t4", "l4"))
    assert (now, other) == (5_505_024, 2_752_512)


def test_weights_of_32_bits_in_16():
    assert weights_in(load(GEMMA), "bf16")[0] == 36_966_823_936 // 2


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("MPTForCausalLM", {}, "supported until 0.28.0"),
        ("BartForConditionalGeneration", {"is_encoder_decoder": True}, "bart-plugin"),
        ("T5ForConditionalGeneration", {"is_encoder_decoder": True}, "no class"),
        ("Qwen2ForCausalLM", {}, ""),
        ("Qwen2Model", {}, ""),
        ("HeliumForCausalLM", {}, ""),  # with transformers' class
    ],
)
def test_architectures_that_vllm_cannot_run(name, more, words):
    found = no_class({"architectures": [name], **more})
    assert words in found
    assert bool(found) == bool(words)


def test_vllm_is_not_asked_for_a_model_it_has_no_class_for():
    config = {**load("Qwen/Qwen2.5-7B-Instruct").config, "architectures": ["MPTForCausalLM"]}
    with pytest.raises(ValueError, match="cannot run one: MPTForCausalLM"):
        fit(question(Model("one", config, Source("file")), available=GIB, tokens=1))


def test_the_remedy_says_how_much_smaller_and_on_which_cards():
    found = what_helps(fit(on(None, V32, available=GIB, tokens=20_000)))
    texts = [remedy.text for remedy in found if remedy.flag == "--kv-dtype fp8"]
    assert texts == [
        "a cache in FP8, 61% of the size, on a card of compute capability 9.x, 10.x or 12.x"
    ]


def test_compressed_layers_of_other_sizes_have_no_kernel():
    layer = Compressed(rate=4, entry=1024, waiting=4096, overlap=4096)
    with pytest.raises(ValueError, match="no kernel"):
        Pool.of(CacheLayout((layer,)), Options())
