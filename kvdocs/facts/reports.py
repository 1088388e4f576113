"""Public reports of what engines printed, each with its source and what kind of evidence it is.

In: reports.toml. Out: ``Report``s. An incomplete entry is refused with its key and field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from kvdocs.formula.layers import FullAttention, Latent, Layer
from kvdocs.formula.layout import CacheLayout
from kvdocs.startup import dataclass

EVIDENCE = ("independent", "same thread", "fitted", "identity", "claim")
_KINDS: dict[str, type[Layer]] = {"full": FullAttention, "latent": Latent}


@dataclass(frozen=True)
class Report:
    """One report. The fields are those that reports.toml explains in its first lines.

    ``snapshot`` is the id of the model its numbers are held against; ``same_shape`` says that this
    is another model than the reported one, with the same layers. ``expect`` maps a check's key to
    what its checks must say, in their order.
    """

    key: str
    title: str
    engine: str
    model: str
    source: str
    evidence: str
    lesson: str
    text: str = ""
    quoted: bool = False
    snapshot: str = ""
    same_shape: bool = False
    layers: tuple[Mapping[str, Any], ...] = ()
    fields: Mapping[str, int] = field(default_factory=dict)
    tp: int = 1
    dtype: str = ""
    formula: int | None = None
    printed: float | None = None
    ratio: float | None = None
    config: str = ""
    refused: str = ""
    expect: Mapping[str, str] = field(default_factory=dict)

    @property
    def layout(self) -> CacheLayout | None:
        """The layout that the report states by hand; None where it does not."""
        if not self.layers:
            return None
        stated = []
        for entry in self.layers:
            sizes = {name: size for name, size in entry.items() if name not in ("kind", "count")}
            stated += [_KINDS[entry["kind"]](**sizes)] * entry["count"]
        return CacheLayout(tuple(stated))


def load_reports(path: Path | None = None) -> dict[str, Report]:
    """All reports by key; by default those of reports.toml, in its order.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not TOML, or an entry lacks a field, has an unknown one, or names
            no kind of evidence.

    >>> load_reports()["qwen3_14b"].evidence
    'independent'
    """
    path = path or Path(__file__).with_name("reports.toml")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    return {key: _report(f"{path}: {key}", key, entry) for key, entry in entries.items()}


def _report(where: str, key: str, entry: dict[str, Any]) -> Report:
    known = {one.name for one in fields(Report)} - {"key"}
    for name in entry:
        if name not in known:
            raise ValueError(f"{where}: unknown field {name!r}")
    for name in ("title", "engine", "model", "source", "evidence", "lesson"):
        if not entry.get(name):
            raise ValueError(f"{where}: missing field {name!r}")
    if entry["evidence"] not in EVIDENCE:
        kinds = ", ".join(EVIDENCE)
        raise ValueError(f"{where}: evidence is {entry['evidence']!r}, not one of {kinds}")
    entry["layers"] = tuple(entry.get("layers", ()))
    return Report(key, **entry)
