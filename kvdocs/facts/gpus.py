"""GPUs: memory as the driver reports it, and what a card can do with FP8 numbers.

In: gpus.toml, one table per card, beside this file; the name of a card as people write it. Out:
``Gpu``. A file that does not say everything it must is refused, with the key and the field that are
wrong.
"""

from __future__ import annotations

import os
import re

from kvdocs.facts.tables import Types, check, tables
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "gpus.toml")
_FIELDS: dict[str, Types] = {
    "name": (str,),
    "sold_as": (str,),
    "memory_mib": (int,),
    "memory_source": (str,),
    "compute_capability": (str,),
    "capability_source": (str,),
    "fp8_arithmetic": (bool,),
}
_OPTIONAL: dict[str, Types] = {"remark": (str,), "also_sold_as": (list,)}


@dataclass(frozen=True)
class Gpu:
    """One card. ``memory_mib`` is the driver's total in MiB, not the figure it is sold by.

    ``also_sold_as``: other sizes of memory under the same name. ``fp8_arithmetic``: the card
    multiplies FP8 numbers itself. ``remark`` may be empty.
    """

    key: str
    name: str
    sold_as: str
    memory_mib: int
    memory_source: str
    compute_capability: str
    capability_source: str
    fp8_arithmetic: bool
    remark: str = ""
    also_sold_as: tuple[str, ...] = ()


def load_gpus(path: str | os.PathLike[str] = FILE) -> dict[str, Gpu]:
    """All cards of a file, by key.

    Raises:
        OSError: the file cannot be read.
        ValueError: as for ``kvdocs.facts.claims.load_claims``.

    >>> load_gpus()["rtx_4090"].memory_mib
    24564
    """
    return {key: _gpu(f"{path}: {key}", key, table) for key, table in tables(path).items()}


def gpu_named(name: str) -> Gpu:
    """The card of that name or key, or the only one whose name has these letters in it.

    Raises:
        ValueError: no card, several, or one that is also sold with another memory.

    >>> gpu_named("RTX 4090").key, gpu_named("h100").key
    ('rtx_4090', 'h100_80gb')
    """
    cards = load_gpus()
    wanted = _letters(name)
    names = {key: {_letters(key), _letters(card.name)} for key, card in cards.items()}
    exactly = [key for key, known in names.items() if wanted and wanted in known]
    partly = [key for key, known in names.items() if wanted and any(wanted in n for n in known)]
    found = exactly or partly
    if len(found) == 1:
        card = cards[found[0]]
        if card.also_sold_as and _letters(card.sold_as).removesuffix("gb") not in wanted:
            sizes = " and with ".join((*card.also_sold_as, card.sold_as))
            raise ValueError(
                f"--gpu {name!r}: this card was sold with {sizes}. Say {card.key}, or state the "
                "memory of another one with --vram"
            )
        return card
    state = f"fits several cards: {', '.join(found)}" if found else "is not in the table of cards"
    known = ", ".join(f"{card.key} ({card.memory_mib:,} MiB)" for card in cards.values())
    raise ValueError(f"--gpu {name!r} {state}. Known are {known}; or state the memory with --vram")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))


def _gpu(where: str, key: str, table: dict[str, Any]) -> Gpu:
    check(where, table, _FIELDS, _OPTIONAL)
    if table["memory_mib"] <= 0:
        raise ValueError(f"{where}: field 'memory_mib' is {table['memory_mib']}, not above 0")
    return Gpu(key=key, **table | {"also_sold_as": tuple(table.get("also_sold_as", ()))})
