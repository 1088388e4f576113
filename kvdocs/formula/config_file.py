"""The text of a ``config.json`` as an object, with nothing said twice.

In: text. Out: the JSON object, or a ``ConfigError`` that names the line or the field.
"""

from __future__ import annotations

import json
import re
import sys

from kvdocs.formula.errors import ConfigError, shown


def parse_config(text: str, source: str) -> dict[str, object]:
    """The JSON object in ``text``; ``source`` names the file in errors.

    Raises:
        ConfigError: not JSON, or JSON that is not an object.

    >>> parse_config('{"num_hidden_layers": 28}', "config.json")
    {'num_hidden_layers': 28}
    """
    remedy = "Pass a model's config.json as published on the Hub"
    try:
        found = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once_each)
    except _Twice as error:
        remedy = "Keep the one that is meant"
        raise ConfigError(
            source, str(error), "stands twice, with different values", remedy
        ) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if (line := text.splitlines()[error.lineno - 1 :][:1]) and line[0].startswith(_MARKERS):
            problem = f"has a merge-conflict marker at line {error.lineno}"
            raise ConfigError(source, "", problem, "Resolve the conflict first") from None
        raise ConfigError(source, "", f"is not JSON: {error.msg} at {place}", remedy) from None
    except (ValueError, RecursionError) as error:
        place = too_long(text, r'"(\w+)"\s*:')
        raise ConfigError(source, place, f"is not usable JSON: {unread(error)}", remedy) from None
    if not isinstance(found, dict):
        raise ConfigError(source, "", f"holds {shown(found)}, not a JSON object", remedy)
    return found


def unread(error: Exception) -> str:
    """Why Python could not read numbers or lists that are well-formed."""
    if isinstance(error, RecursionError):
        return "it nests deeper than can be read"
    return "a number there has more digits than can be read"


def too_long(text: str, key: str) -> str:
    """The field in ``text`` whose number Python will not read, empty where there is none.

    ``key`` is the pattern of a name and what stands between it and its value.
    """
    found = re.search(rf"{key}[^\n\"]*?\d{{{sys.get_int_max_str_digits() or 4300}}}", text)
    return found[1] if found else ""


_MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


class _Twice(Exception):
    """A key with two values in one object."""


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in pairs:
            if repr(found[key]) != repr(value):
                raise _Twice(key)
    return found
