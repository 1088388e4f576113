"""Where a config comes from: a file, standard input, the embedded snapshot or the live Hub.

In: what the reader named. Out: the ``Model`` with its provenance, or a ``LookupFailed``.

``KVDOCS_HUB`` decides between the Hub and the snapshot: ``live`` asks only the Hub, ``snapshot``
never does, ``auto`` asks the Hub and falls back to the snapshot. Where it is not set, the snapshot
answers for the models it has (at once, and the same every time) and the Hub for all others.
Nothing from the Hub is ever executed.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from kvdocs.facts import snapshot
from kvdocs.facts.models import (
    LARGEST_CONFIG,
    QUANT_CONFIG,
    LookupFailed,
    Model,
    Source,
    with_quant_config,
)
from kvdocs.formula import parse_config

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

MODES = ("auto", "live", "snapshot")
AUTO_SECONDS = 5.0  # what the Hub gets in all before the snapshot stands in
LIVE_SECONDS = 30.0  # what it gets where nothing can stand in


def find(name: str) -> Model:
    """The model named by a Hub id, a path, or ``-`` for a config.json on standard input.

    A path is that of a config.json, of the folder it is in, or of a layout stated by hand in TOML.

    Raises:
        LookupFailed: there is no such file or model, it cannot be read, or KVDOCS_HUB is misspelt.
        ConfigError: what is there is no config.
    """
    if name == "-":
        data = standard_input("a config.json").read(LARGEST_CONFIG + 1)
        return _from_bytes(data, "standard input")
    if _is_path(name):
        return _from_file(os.path.expanduser(name))
    return _from_hub(name, mode())


def standard_input(what: str) -> BinaryIO:
    """Standard input, to read ``what`` from.

    Raises:
        LookupFailed: it is closed, as in ``kvdocs cost - <&-``.
    """
    if sys.stdin is None:
        raise LookupFailed("standard input", "it is closed", f"Pipe {what} into it")
    return sys.stdin.buffer


def mode() -> str:
    """What ``KVDOCS_HUB`` says; empty where it is not set.

    Raises:
        LookupFailed: it is set to anything else than a mode.
    """
    value = os.environ.get("KVDOCS_HUB", "")
    if value and value not in MODES:
        remedy = "Set it to auto, live or snapshot, or unset it"
        raise LookupFailed("KVDOCS_HUB", f"{value!r} is not one of its values", remedy)
    return value


def seconds(chosen: str) -> float:
    """How long the Hub is given in all, in the mode ``chosen``."""
    return AUTO_SECONDS if chosen == "auto" else LIVE_SECONDS


def _from_hub(name: str, chosen: str) -> Model:
    known = None if chosen == "live" else snapshot.load(name)
    if known and chosen != "auto":
        return known
    from kvdocs.facts.hub_id import check_id

    check_id(name)
    if chosen == "snapshot":
        remedy = "Unset KVDOCS_HUB to ask the Hub"
        raise LookupFailed(name, "it is not in the snapshot", remedy)
    from kvdocs.facts import live  # sockets and threads, which no other answer needs

    try:
        return live.fetch(name, seconds(chosen))
    except LookupFailed as error:
        if known:
            return known.standing_in(error.reason)
        if chosen == "live":
            raise
        reason = f"it is not in the snapshot, and {error.reason}"
        raise LookupFailed(name, reason, error.remedy) from None


def _is_path(name: str) -> bool:
    return (
        name.endswith((".json", ".toml"))
        or name.startswith((".", "/", "~"))
        or os.path.exists(name)
    )


def _from_file(path: str) -> Model:
    if os.path.isdir(path):
        path = os.path.join(path, "config.json")
    model = _from_bytes(_read(path), path)
    beside = os.path.join(os.path.dirname(path), QUANT_CONFIG)
    if path.endswith(".toml") or not os.path.isfile(beside):
        return model

    def read() -> Mapping[str, Any]:
        return _from_bytes(_read(beside), beside).config

    return replace(model, config=with_quant_config(model.config, read))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_CONFIG + 1)
    except OSError as error:
        remedy = (
            "Pass a Hub id such as Qwen/Qwen2.5-7B-Instruct, a path to a config.json, "
            "or - for standard input"
        )
        reason = error.strerror or type(error).__name__
        raise LookupFailed(path, reason, remedy) from None


def _from_bytes(data: bytes, source: str) -> Model:
    if len(data) > LARGEST_CONFIG:
        raise LookupFailed(source, f"more than {LARGEST_CONFIG:,} bytes, so no config.json")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise LookupFailed(source, "not UTF-8 text, so no config.json") from None
    if source.endswith(".toml"):
        from kvdocs.formula.by_hand import parse

        return Model(source, parse(text, source), Source("file", detail=source))
    if "[[layers]]" in text:
        remedy = "Put it into a file whose name ends in .toml, and pass its path"
        raise LookupFailed(source, "it holds a layout in TOML, not a config.json", remedy)
    return Model(source, parse_config(text, source), Source("file", detail=source))
