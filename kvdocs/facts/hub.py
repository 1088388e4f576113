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
from pathlib import Path

from kvdocs.facts import snapshot
from kvdocs.facts.models import Model, Source
from kvdocs.formula import parse_config

LARGEST_CONFIG = 5_000_000  # bytes; the largest published config.json is far below


class LookupFailed(ValueError):
    """No config could be had; the message says from where and what to do next."""


def find(name: str) -> Model:
    """The model named by a Hub id, a path to a config.json, or ``-`` for standard input.

    Raises:
        LookupFailed: there is no such file or model, or it cannot be read.
        ConfigError: what is there is no config.
    """
    if name == "-":
        return _from_text(sys.stdin.buffer.read(LARGEST_CONFIG + 1), "standard input")
    if _is_path(name):
        return _from_file(Path(name))
    mode = os.environ.get("KVDOCS_HUB", "")
    if mode in ("", "snapshot"):
        if model := snapshot.load(name):
            return model
    if mode == "snapshot":
        raise LookupFailed(f"{name} is not in the snapshot. Unset KVDOCS_HUB to ask the Hub.")
    return _from_hub(name, mode)


def _is_path(name: str) -> bool:
    return name.endswith(".json") or name.startswith((".", "/", "~")) or Path(name).exists()


def _from_file(path: Path) -> Model:
    path = path.expanduser()
    if path.is_dir():
        path /= "config.json"
    try:
        with path.open("rb") as file:
            return _from_text(file.read(LARGEST_CONFIG + 1), str(path))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LookupFailed(
            f"{path}: {reason}. Pass a Hub id such as Qwen/Qwen2.5-7B-Instruct, "
            "a path to a config.json, or - for standard input."
        ) from None


def _from_text(data: bytes, source: str) -> Model:
    if len(data) > LARGEST_CONFIG:
        raise LookupFailed(f"{source}: more than {LARGEST_CONFIG:,} bytes, so no config.json.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise LookupFailed(f"{source}: not UTF-8 text, so no config.json.") from None
    config = parse_config(text, source)
    return Model(source, config, Source("file", detail=source))


def _from_hub(name: str, mode: str) -> Model:
    raise LookupFailed(f"{name} is not in the snapshot.")
