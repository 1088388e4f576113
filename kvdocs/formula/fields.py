"""The fields of a config that rules read, under transformers' standard names.

In: ``fields.txt``, one name a line. Out: ``FIELDS``. ``defaults.json`` holds the class defaults of
these, and of the lengths in ``kvdocs.facts.models``; a published config that differs in one of
them may have another cache.
"""

from __future__ import annotations

from pathlib import Path

_LINES = Path(__file__).with_name("fields.txt").read_text(encoding="utf-8").splitlines()
FIELDS = tuple(line for line in _LINES if line and not line.startswith("#"))
