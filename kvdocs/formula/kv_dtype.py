"""The cache dtype that a published config asks for.

In: a published config. Out: a dtype's name and the field that says so, or None. The dtype of the
weights (``dtype``, formerly ``torch_dtype``) says nothing about it: engines that are not told
otherwise keep K and V in 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.formula.errors import ConfigError

# Where quantisers write it: llm-compressor and ModelOpt in config.json, ModelOpt also in its own
# file beside it, whose content ``kvdocs`` puts under hf_quant_config.
PLACES = (
    ("quantization_config", "kv_cache_scheme"),
    ("quantization_config", "kv_cache_quant_algo"),
    ("compression_config", "kv_cache_scheme"),
    ("hf_quant_config", "quantization", "kv_cache_quant_algo"),
)


# By what quantisers write there; 4-bit floats are NVFP4 to ModelOpt only (get_kv_cache_quant_algo_
# string in utils/torch_utils.py of vLLM 0.33.0, which also says what it takes from a checkpoint).
ALGORITHMS = {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "nvfp4": "nvfp4"}
SCHEMES = {(8, "float"): "fp8_e4m3", (4, "float"): "nvfp4"}


def named_kv_dtype(config: Mapping[str, object], source: str) -> tuple[str, str] | None:
    """The dtype that a config names for its cache, and the field; None where it names none.

    Raises:
        ConfigError: it names one that is neither FP8 nor NVFP4.

    >>> scheme = {"num_bits": 8, "type": "float"}
    >>> named_kv_dtype({"quantization_config": {"kv_cache_scheme": scheme}}, "config.json")
    ('fp8_e4m3', 'quantization_config.kv_cache_scheme')
    """
    stated = stated_kv_dtype(config)
    if stated is None:
        return None
    field, found = stated
    if dtype := _dtype(found, config):
        return dtype, field
    remedy = "Say which dtype to count with --kv-dtype"
    raise ConfigError(source, field, f"names a cache dtype unknown here: {found!r}", remedy)


def stated_kv_dtype(config: Mapping[str, object]) -> tuple[str, object] | None:
    """The first field in which a config says anything about its cache's dtype, and what."""
    for place in PLACES:
        found: object = config
        for key in place:
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is not None:
            return ".".join(place), found
    return None


def _dtype(found: object, config: Mapping[str, object]) -> str | None:
    if isinstance(found, str):
        return ALGORITHMS.get(found.lower())
    if not isinstance(found, Mapping):
        return None
    bits, kind = found.get("num_bits"), found.get("type")
    if not isinstance(bits, int) or not isinstance(kind, str):
        return None
    dtype = SCHEMES.get((bits, kind))
    own = config.get("quantization_config")
    method = str(own.get("quant_method")) if isinstance(own, Mapping) else ""
    return None if dtype == "nvfp4" and not method.startswith("modelopt") else dtype
