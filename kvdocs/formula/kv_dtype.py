"""The cache dtype that a published config asks for.

In: a published config. Out: a dtype's name and the field that says so, or None. The dtype of the
weights (``dtype``, formerly ``torch_dtype``) says nothing about it: engines that are not told
otherwise keep K and V in 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.formula.config import ConfigError

# Where quantisers write it: llm-compressor and ModelOpt in config.json, ModelOpt also in its own
# file beside it, whose content ``kvdocs`` puts under hf_quant_config.
PLACES = (
    ("quantization_config", "kv_cache_scheme"),
    ("quantization_config", "kv_cache_quant_algo"),
    ("compression_config", "kv_cache_scheme"),
    ("hf_quant_config", "quantization", "kv_cache_quant_algo"),
)


def named_kv_dtype(config: Mapping[str, object], source: str) -> tuple[str, str] | None:
    """The dtype that a config names for its cache, and the field; None where it names none.

    Raises:
        ConfigError: it names one whose elements are not 8-bit floats.

    >>> scheme = {"num_bits": 8, "type": "float"}
    >>> named_kv_dtype({"quantization_config": {"kv_cache_scheme": scheme}}, "config.json")
    ('fp8_e4m3', 'quantization_config.kv_cache_scheme')
    """
    for place in PLACES:
        found: object = config
        for key in place:
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is None:
            continue
        field = ".".join(place)
        if _is_fp8(found):
            return "fp8_e4m3", field
        remedy = "Say which dtype to count with --kv-dtype"
        raise ConfigError(source, field, f"names a cache dtype unknown here: {found!r}", remedy)
    return None


def _is_fp8(found: object) -> bool:
    if isinstance(found, Mapping):
        return (found.get("num_bits"), found.get("type")) == (8, "float")
    return isinstance(found, str) and found.lower() in ("fp8", "fp8_e4m3")
