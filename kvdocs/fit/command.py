"""``kvdocs fit``: how many sequences fit on a GPU, as a table for people or as JSON.

In: a model, a GPU or an amount of memory, an engine, and any of tokens and users. Out: how many
sequences of that length, the longest context of that many users, or whether they fit and what
would help. Exit status 0 where it fits, 1 where it does not.
"""

from __future__ import annotations

import argparse
import json

from kvdocs.facts.hub import find
from kvdocs.fit.options import ask

NO_OPTIONS = ("command", "json")  # of the question


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs fit``; raises what ``ask`` raises."""
    asked = {name: value for name, value in vars(args).items() if name not in NO_OPTIONS}
    answer = ask(find(asked.pop("model")), **asked)
    print(json.dumps(answer.as_json(), indent=2) if args.json else answer)
    return 0 if answer.fits else 1
