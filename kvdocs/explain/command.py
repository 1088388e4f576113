"""``kvdocs explain``: a log in, its explanation out, as a table or as JSON."""

from __future__ import annotations

import argparse
import json

from kvdocs.explain.answer import CONTRADICTS, explain
from kvdocs.facts.hub import standard_input
from kvdocs.facts.models import LookupFailed
from kvdocs.logs.reading import EngineLog, scan


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs explain``; raises what ``explain`` raises.

    Status 0 explained, 1 a number contradicts the formula and no known reason gives it.
    """
    log = read(args.file)
    found = explain(log, args.model, args.tp, args.kv_dtype, args.gpu, source=args.file)
    print(json.dumps(found.as_json(), indent=2) if args.json else found)
    return 1 if found.status == CONTRADICTS else 0


def read(name: str) -> EngineLog:
    """The log in a file, or on standard input for ``-``.

    Raises:
        LookupFailed: the file cannot be read, or standard input is closed.
    """
    if name == "-":
        return scan(standard_input("a log"))
    try:
        with open(name, "rb") as file:
            return scan(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LookupFailed(name, reason, "Pass the path of a log, or - to paste one") from None
