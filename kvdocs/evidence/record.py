"""``kvdocs evidence``: every record, what it holds, and the one way to check and update it.

In: a record's name. Out: without an action the list of records; ``explain`` says what one holds and
needs, ``check`` measures again and prints what differs as a unified diff, ``update`` writes the
file. Both take one path: measure, lay out as text, then compare or write.

A module that makes a record has ``WHAT``, which explains the file's keys, and ``measured()``, which
gives its content. Date, versions and machine come from here, and ``check`` leaves them out.
"""

from __future__ import annotations

import datetime
import difflib
import json
import logging
import os
import platform
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvdocs.evidence.needs import NEEDS, Needs

if TYPE_CHECKING:
    import argparse

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Record:
    """One record; ``records.toml`` says what the fields are."""

    name: str
    holds: str
    module: str
    needs: Needs
    file: str = ""
    one_line: Mapping[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return PACKAGE / (self.file or f"evidence/records/{self.name}.json")

    def content(self) -> dict[str, Any]:
        """What the file says.

        Raises:
            ValueError: there is no such file yet, or it is no JSON.
        """
        try:
            found: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            remedy = f"make it: {self.command('update')}"
            raise ValueError(f"{self.path}: {error.strerror}; {remedy}") from None
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}. Restore the record, or update it") from None
        return found

    def measured(self, **options: Any) -> str:
        """The text that the file should have, measured now.

        Raises:
            ValueError: what it needs is not here, or cannot be measured; the message says why.
        """
        if reason := self.needs.missing():
            raise ValueError(f"{self.name} {reason}")
        self.needs.prepare()
        module = self._module()
        found = module.measured(**options)
        if isinstance(found, str):  # laid out by the module, for readers of its own
            return found
        head = {
            "what": f"{module.WHAT} To run it again: {self.command('check')}",
            "date": datetime.date.today().isoformat(),
            **self.needs.versions(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
        }
        return layout(head | found, self.one_line)

    def changes(self, **options: Any) -> list[str]:
        """The lines of a unified diff from the file to what is measured now; none if it holds.

        ``only``, of the sweep, names the entries to measure and compare.

        Raises:
            ValueError: as ``content`` and ``measured``.
        """
        before = self.content()
        after = json.loads(self.measured(**options))
        if options.get("only"):
            before = self._module().only(before, options["only"])
        old, new = (self._lasting_lines(content) for content in (before, after))
        names = (self.path.name, "measured now")
        return list(difflib.unified_diff(old, new, *names, lineterm="", n=1))

    def update(self, **options: Any) -> None:
        """Measure and write the file, whole or not at all.

        Raises:
            ValueError: as ``measured``.
        """
        text = self.measured(**options)
        beside = self.path.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, self.path)

    def command(self, action: str) -> str:
        """What to type for an action."""
        return f"{self.needs.run} evidence {action} {self.name}"

    def _module(self) -> Any:
        try:
            return import_module(f"kvdocs.evidence.{self.module}")
        except ImportError as error:
            raise ValueError(f"{self.name} cannot be measured here: {error}") from None

    def _lasting_lines(self, content: dict[str, Any]) -> list[str]:
        """The content, laid out, without what every run changes."""
        head = {"what", "date", "python", "system", *self.needs.packages}
        kept = {key: value for key, value in content.items() if key not in head}
        return layout(kept, self.one_line).splitlines()


def layout(content: dict[str, Any], one_line: Mapping[str, int]) -> str:
    """JSON, one item a line; below the given levels of a key all of an item in one line.

    >>> print(layout({"a": [1], "b": [{"c": [2, 3]}]}, {"b": 1}), end="")
    {
     "a": [
      1
     ],
     "b": [
      {"c": [2, 3]}
     ]
    }
    """
    plain = json.loads(json.dumps(content))  # tuples are lists, keys are texts
    items = (f"{json.dumps(key)}: {_laid(plain[key], one_line.get(key, -1), 1)}" for key in plain)
    return "{\n " + ",\n ".join(items) + "\n}\n"


def _laid(value: Any, levels: int, margin: int) -> str:
    if not levels or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = value.values() if isinstance(value, dict) else value
    items = [_laid(one, levels - 1, margin + 1) for one in inner]
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {item}" for name, item in zip(value, items, strict=True)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    line = "\n" + " " * margin
    return f"{start}{line} " + f",{line} ".join(items) + line + end


def _listed() -> dict[str, Record]:
    found = tomllib.loads(Path(__file__).with_name("records.toml").read_text(encoding="utf-8"))
    return {
        name: Record(name, **{**entry, "needs": NEEDS[entry["needs"]]})
        for name, entry in found.items()
    }


RECORDS = _listed()


def run(args: argparse.Namespace) -> int:
    """``kvdocs evidence``: 0 where the record holds, or is written; 1 where it does not hold.

    Raises:
        ValueError: no such record, an option that it has not, or it cannot be measured here.
    """
    if args.action is None:
        print("\n\n".join("\n".join(_summary(record)) for record in RECORDS.values()))
        return 0
    record, options = _asked(args)
    if args.action == "explain":
        print("\n".join(explained(record)))
        return 0
    logging.disable()  # what engines say while they are asked is no answer
    try:
        return _checked(record, options) if args.action == "check" else _updated(record, options)
    finally:
        logging.disable(logging.NOTSET)


def _checked(record: Record, options: dict[str, Any]) -> int:
    changes = record.changes(**options)
    print("\n".join(changes) if changes else f"{record.path.name}: measured again, the same")
    return 1 if changes else 0


def _updated(record: Record, options: dict[str, Any]) -> int:
    record.update(**options)
    print(f"{record.path.name}: written")
    return 0


def _asked(args: argparse.Namespace) -> tuple[Record, dict[str, Any]]:
    """The record and the options that are given."""
    if args.name not in RECORDS:
        said = f"no record is called {args.name[:40]!r}" if args.name else "name a record"
        raise ValueError(f"{said}; there are {', '.join(RECORDS)}")
    given = {"only": args.only, "jobs": args.jobs}
    options = {name: value for name, value in given.items() if value}
    if options and (args.name != "sweep" or args.action == "explain"):
        raise ValueError(f"--{next(iter(options))} is for the sweep, which runs many architectures")
    if args.only and args.action == "update":
        raise ValueError("update writes a whole record; --only is for check")
    return RECORDS[args.name], options


def explained(record: Record) -> Iterator[str]:
    """What a record holds, where it is, what it needs, and how to run it again; as lines."""
    yield from _summary(record)
    yield f"  file    kvdocs/{record.path.relative_to(PACKAGE)}"
    yield from (f"  {action:<7} {record.command(action)}" for action in ("check", "update"))
    if what := record.content().get("what"):
        yield ""
        yield from textwrap.wrap(what, 88)


def _summary(record: Record) -> Iterator[str]:
    content = record.content()
    versions = [f"{name} {content[name]}" for name in record.needs.packages if name in content]
    made = [content["date"]] if "date" in content else []
    missing = record.needs.missing()
    yield from textwrap.wrap(f"{record.name}: {record.holds}", 88, subsequent_indent="  ")
    yield f"  made    {', '.join(made + versions)}"
    yield f"  needs   {record.needs}; {missing.partition('; ')[2] or 'installed here'}"
