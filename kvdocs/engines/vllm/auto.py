"""What vLLM 0.33.0 makes of a dtype for a model on a card: the weights', and the cache's.

In: a model, the ``--kv-cache-dtype`` asked for and the card's compute capability, None where the
card is not known. Out: the format that the cache is kept in, and the dtype that the weights are
loaded in. Paths are in the vLLM 0.33.0 wheel.

Sparse latents (DeepSeek-V3.2, GLM-5) have kernels of their own in every generation of cards, and
these keep FP8 in different ways (platforms/cuda.py:84). Without a card they are those of Hopper.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.engines.vllm import VERSION
from kvdocs.engines.vllm.dtypes import IN_32_BITS
from kvdocs.engines.vllm.layers import sparse
from kvdocs.engines.weights import PUBLISHED, published_dtype, quantised
from kvdocs.facts.models import Model
from kvdocs.units import ceil_div

SPARSE_CARDS = "9.x, 10.x or 12.x"
BLACKWELL = 10  # data-centre cards
BFLOAT16 = 8.0  # the least compute capability (platforms/cuda.py:257)

# Sparse latents on newer cards than Hopper: format asked for -> format kept, where they differ
# (layers/attention/mla_attention.py:359). FlashInfer's plain FP8 is called fp8_e4m3 here.
SPARSE = {
    10: {"fp8": "fp8_e4m3"},
    12: dict.fromkeys(("auto", "fp8", "fp8_e4m3"), "fp8_ds_mla"),
}

NO_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")  # config/model.py:2398
IN_FLOAT32 = ("compressed-tensors", "torchao")  # quantised models that may run so


def kept(dtype: str, model: Model, capability: str | None = None) -> str:
    """The format in which the cache is kept, for ``Options.kv_cache_dtype``. What vLLM refuses is
    in ``kernels.py``.

    >>> from kvdocs.facts.snapshot import load
    >>> glm = load("zai-org/GLM-5")
    >>> [kept("auto", glm, card) for card in (None, "9.0", "10.0", "12.0")]
    ['auto', 'auto', 'fp8_e4m3', 'fp8_ds_mla']
    """
    asked = by_architecture(dtype, model.config, capability)
    if sparse(model.layout):
        return SPARSE.get(_generation(capability), {}).get(asked, asked)
    if asked == "auto" and loaded(model, capability) == "float32":
        return IN_32_BITS.name
    return asked


def loaded(model: Model, capability: str | None = None) -> str:
    """The dtype in which vLLM runs a model, without --dtype (config/model.py:2423). Where its
    config names none, vLLM reads the weights; this one is then only as wide as that.

    >>> from kvdocs.facts.snapshot import load
    >>> gemma = load("google/gemma-2-9b")  # published in float32
    >>> loaded(gemma, "8.9"), loaded(gemma, "7.5")
    ('bfloat16', 'float32')
    """
    named, _ = published_dtype(model) or ("float32", "")
    takes = ["float32"]
    if model.config.get("model_type") not in NO_FLOAT16:
        takes.insert(0, "float16")
    if capability is None or float(capability) >= BFLOAT16:
        takes.insert(0, "bfloat16")
    return named if named in takes and named != "float32" else takes[0]


def loaded_weights(model: Model, capability: str | None = None) -> tuple[int, str] | None:
    """Bytes of the weights as vLLM loads them, and the source; None where they are not known.

    Raises:
        ValueError: vLLM refuses to run such a quantised model in float32.
    """
    if model.weights is None:
        return None
    named, now = published_dtype(model), loaded(model, capability)
    published = model.weights.bytes, model.weights.kind
    if quantised(model):
        _check_quantised(model.config, now)
        return published
    if named is None or named[0] not in PUBLISHED or PUBLISHED[named[0]] == PUBLISHED[now]:
        return published
    part = PUBLISHED[now] / PUBLISHED[named[0]]
    size = ceil_div(model.weights.bytes * part.numerator, part.denominator)
    source = f"published in {named[0]}, loaded in {now}: config/model.py:2423 of vLLM {VERSION}"
    return size, f"{model.weights.kind}; {source}"


def by_architecture(dtype: str, config: Mapping[str, object], capability: str | None) -> str:
    """What an architecture makes of the flag, before its layers are asked (models/config.py)."""
    names = config.get("architectures")
    named = names if isinstance(names, list) else []
    if "GlmMoeDsaForCausalLM" in named and dtype == "auto" and _generation(capability) == BLACKWELL:
        return "fp8_e4m3"  # models/config.py:100
    if "DeepseekV32ForCausalLM" in named and dtype == "bfloat16":
        return "auto"  # models/config.py:85
    return dtype


def _generation(capability: str | None) -> int:
    """The whole part of the compute capability; Hopper's where no card is known."""
    return int(float(capability or "9.0"))


def _check_quantised(config: Mapping[str, object], dtype: str) -> None:
    found = config.get("quantization_config")
    method = found.get("quant_method") if isinstance(found, Mapping) else None
    if dtype == "float32" and method not in IN_FLOAT32:
        raise ValueError(
            f"vLLM {VERSION} runs this model in float32 on such a card, and refuses that for "
            f"weights quantised by {method} (config/vllm.py:938)"
        )
