"""A config that gives no answer, and how its values are shown.

In: a file, a field, a problem. Out: a ``ConfigError`` of one paragraph.
"""

from __future__ import annotations

import json


class ConfigError(ValueError):
    """A config that gives no answer: where, which field, what is wrong, what to do next."""

    def __init__(self, source: str, field: str, problem: str, remedy: str = "") -> None:
        self.source, self.field, self.problem, self.remedy = source, field, problem, remedy
        place = f"{source}: {field}" if field else source
        super().__init__(f"{place} {problem}." + (f" {remedy}." if remedy else ""))


def shown(value: object) -> str:
    """A value as it stands in the file, cut to a readable length."""
    try:
        text = json.dumps(value, default=str)
    except (ValueError, RecursionError):  # more digits than Python writes, or too deep
        return "too long to show"
    return text if len(text) <= 40 else text[:37] + "..."
