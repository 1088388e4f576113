"""The dtypes of caches and weights: one table of names, aliases and sizes, for every floor.

In: a name as a config, a log or a command line writes it. Out: a ``Dtype``, or None. What an engine
accepts, and its formats with scales beside the numbers, is the engine's own.
"""

from __future__ import annotations

from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class Dtype:
    """How ``elements`` numbers are stored in ``bytes`` bytes: one by one, or a block at a time.

    ``kind`` is ``float``; ``integer``, whose scales lie elsewhere and which only weights have; or
    ``block``, whose scale is among its bytes (ggml/src/ggml-common.h:194-256 and 447-452 of
    llama.cpp 0c1e570).
    """

    name: str
    kind: str
    elements: int
    bytes: int
    aliases: tuple[str, ...] = ()

    @property
    def bits(self) -> Fraction:
        """Bits of one element, its part of the scale included.

        >>> DTYPES["q8_0"].bits
        Fraction(17, 2)
        """
        from fractions import Fraction  # which ``kvdocs cost`` does without

        return Fraction(8 * self.bytes, self.elements)


DTYPES = {
    dtype.name: dtype
    for dtype in (
        Dtype("float32", "float", 1, 4, ("fp32", "f32", "float")),
        Dtype("float16", "float", 1, 2, ("fp16", "f16", "half")),
        Dtype("bfloat16", "float", 1, 2, ("bf16",)),
        Dtype("fp8_e4m3", "float", 1, 1, ("fp8", "fp8_inc", "float8_e4m3fn", "float8_e4m3fnuz")),
        Dtype("fp8_e5m2", "float", 1, 1, ("float8_e5m2", "float8_e5m2fnuz")),
        Dtype("int8", "integer", 1, 1),
        Dtype("int4", "integer", 2, 1),
        Dtype("q8_0", "block", 32, 34),
        Dtype("q5_0", "block", 32, 22),
        Dtype("q5_1", "block", 32, 24),
        Dtype("q4_0", "block", 32, 18),
        Dtype("q4_1", "block", 32, 20),
        Dtype("iq4_nl", "block", 32, 18),
    )
}
NAMES = {name: dtype for dtype in DTYPES.values() for name in (dtype.name, *dtype.aliases)}


def dtype_of(text: str) -> Dtype | None:
    """The dtype of that name or alias, with or without ``torch.``; None where there is none.

    >>> dtype_of("torch.bfloat16").name, dtype_of("FP8").name, dtype_of("nvfp4")
    ('bfloat16', 'fp8_e4m3', None)
    """
    return NAMES.get(text.lower().removeprefix("torch."))


def full_name(text: str) -> str:
    """The table's own name for a dtype; the text in lower case where the table has none.

    >>> full_name("Half"), full_name("fp8_ds_mla")
    ('float16', 'fp8_ds_mla')
    """
    found = dtype_of(text)
    return found.name if found else text.lower()


def dtype_name(text: str) -> str:
    """The full name of a cache dtype.

    Raises:
        ValueError: not a dtype whose elements take a whole number of bytes.

    >>> dtype_name("fp8"), dtype_name("Float16")
    ('fp8_e4m3', 'float16')
    """
    found = dtype_of(text)
    if found is None or found.kind != "float":
        known = ", ".join(name for name, dtype in DTYPES.items() if dtype.kind == "float")
        raise ValueError(
            f"unknown cache dtype {text!r}; choose one of {known}, or an alias such as bf16 or fp8"
        )
    return found.name


def element_bytes(text: str) -> int:
    """Bytes of one element in a cache dtype.

    Raises:
        ValueError: as for ``dtype_name``.

    >>> element_bytes("float32"), element_bytes("fp8")
    (4, 1)
    """
    return DTYPES[dtype_name(text)].bytes
