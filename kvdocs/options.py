"""What an option of a question may be, the same on the command line and from Python.

In: an option's name and what was given for it. Out: the value, or a ``ValueError`` that says what
would be one.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKENS = ("a number of tokens, such as 4096", 10**12)
_COUNT = ("a whole number of 1 or more", 10**9)
_RANKS = ("a number of GPUs from 1 to 1,024, such as 4", 1024)
WHOLE = {  # option -> what it is, and the most it may be
    **dict.fromkeys(("tokens", "encoder_tokens", "pool_tokens", "max_model_len"), _TOKENS),
    **dict.fromkeys(("users", "max_num_batched_tokens", "ubatch_size"), _COUNT),
    **dict.fromkeys(("tp", "pp"), _RANKS),
    "jobs": ("a number of processes, such as 4", 1000),
}
SIZES = ("vram", "available", "overhead", "weights")
LARGEST = 2**80  # bytes
TEXTS = ("engine", "gpu", "kv_dtype", "weights_dtype")

_WRITTEN = re.compile(r"[0-9]{1,13}|[0-9]{1,3}([,_][0-9]{3}){1,4}")


def whole(name: str, given: object) -> int:
    """A whole number from 1 on, as a number or as text: 4096, 4,096 or 4_096.

    Raises:
        ValueError: it is none, or more than the option ``name`` may be.

    >>> whole("tokens", "4,096"), whole("tp", 2)
    (4096, 2)
    """
    what, most = WHOLE[name]
    number = given if type(given) is int else 0
    if isinstance(given, str) and _WRITTEN.fullmatch(given):
        number = int(given.replace(",", "").replace("_", ""))
    if not 1 <= number <= most:
        raise ValueError(f"{str(given)[:40]!r} is not {what}")
    return number


def check(given: Mapping[str, object]) -> None:
    """Refuse what from Python is no value of an option; None is an option left out.

    Raises:
        ValueError: the message names the option.
    """
    for name, value in given.items():
        if value is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        if name in WHOLE and (type(value) is not int or not 1 <= value <= WHOLE[name][1]):
            raise ValueError(f"{flag}: {repr(value)[:40]} is not {WHOLE[name][0]}")
        if name in TEXTS and not isinstance(value, str):
            raise ValueError(f"{flag}: {repr(value)[:40]} is no text")
        stated = isinstance(value, str) or (type(value) is int and value <= LARGEST)
        if name in SIZES and not stated:
            shown = repr(value)[:40] if not isinstance(value, int) else f"{LARGEST:,} bytes or more"
            raise ValueError(f"{flag}: {shown} is not a whole number of bytes, or text: 10GiB")
