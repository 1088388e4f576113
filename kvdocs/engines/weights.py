"""A model's weights in another number format.

In: a model with published weights in 16 or 32 bits, and a format. Out: bytes, and where that comes
from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvdocs.facts.models import Model
from kvdocs.formula.dtypes import NAMES, dtype_of
from kvdocs.units import ceil_div

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any

# Bits of one weight. A quantised checkpoint also keeps scales, and some tensors in 16 bits.
BITS = {name: NAMES[name].bits for name in ("bfloat16", "float16", "fp8", "int8", "int4")}
PUBLISHED = {name: NAMES[name].bits for name in ("bfloat16", "float16", "float32")}


def weights_in(model: Model, dtype: str, formats: Mapping[str, Fraction] = BITS) -> tuple[int, str]:
    """Bytes of the model's weights in a format of ``formats`` (bits a weight), and the source.

    The file is a little larger, because it keeps some tensors in more bits, and most formats keep
    scales that their bits leave out.

    Raises:
        ValueError: the size in 16 or 32 bits is not known, or the format is not.
    """
    wanted = dtype_of(dtype)
    name = next((name for name in formats if wanted and dtype_of(name) is wanted), None)
    if name is None:
        raise ValueError(
            f"unknown format of weights {dtype!r}; choose one of {', '.join(formats)}, or state "
            "the size with --weights"
        )
    if model.weights is None:
        raise ValueError(f"the size of {model.id}'s weights is not known: state --weights")
    published, _ = published_dtype(model) or ("", "")
    if quantised(model) or published not in PUBLISHED:
        raise ValueError(
            f"{model.id} is not published in 16 or 32 bits, so its size in {name} does not follow "
            "from it: state --weights"
        )
    bits, width = formats[name], PUBLISHED[published]
    part = bits / width
    size = ceil_div(model.weights.bytes * part.numerator, part.denominator)
    scales = "scales included" if bits.denominator > 1 else "scales left out"
    return size, f"{float(bits):g} bits for each of the {width} published, {scales}"


def published_dtype(model: Model) -> tuple[str, str] | None:
    """The dtype that a model's config names for its weights, and the field; None where none."""
    for place, config in _configs(model):
        for name in ("dtype", "torch_dtype"):
            if found := config.get(name):
                return str(found), place + name
    return None


def names_dtype(model: Model) -> bool:
    """Whether a config says in which format the weights are."""
    return quantised(model) or published_dtype(model) is not None


def quantised(model: Model) -> bool:
    """Whether a config says that its weights are quantised."""
    return any(config.get("quantization_config") for _, config in _configs(model))


def _configs(model: Model) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The config of the text decoder, where it has one of its own, and the whole one."""
    text = model.config.get("text_config")
    if isinstance(text, Mapping):
        yield "text_config.", text
    yield "", model.config
