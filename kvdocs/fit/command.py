"""``kvdocs fit``: how many sequences fit on a GPU, as a table for people or as JSON.

In: a model, a GPU or an amount of memory, an engine, and any of tokens and users. Out: how many
sequences of that length, the longest context of that many users, or whether they fit and what
would help. Exit status 0 where it fits, 1 where it does not.
"""

from __future__ import annotations

import argparse
import json

from kvdocs.facts.hub import find
from kvdocs.fit.capacity import Answer, fit, total, total_at_best
from kvdocs.fit.options import of_engine, question
from kvdocs.fit.remedies import Remedy, remedies
from kvdocs.fit.table import notes, table

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

# What an engine makes of the memory at the better end of the ranges; all else is the same there.
AT_BOTH_ENDS = ("blocks", "pool_tokens", "max_concurrency", "n_ctx", "cache_bytes")


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs fit``; raises what ``find``, the formula and ``fit`` raise."""
    answer = fit(question(args, find(args.model)))
    found = remedies(answer)
    print(json.dumps(as_json(answer, found), indent=2) if args.json else table(answer, found))
    return 0 if answer.fits else 1


def as_json(answer: Answer, found: list[Remedy]) -> dict[str, Any]:
    """The answer under its documented keys; sizes in bytes, of one rank where there are several.

    ``available_bytes`` is the sum of ``terms``, each times its sign. ``best`` has the same figures
    with every range at its better end. Beside the keys that every engine has there are its own.
    """
    asked, engine = answer.question, of_engine(answer.question.key)
    best = engine.figures(answer.best)
    return {
        "model": asked.model.id,
        "engine": asked.engine,
        "gpu": asked.gpu.name if asked.gpu else None,
        "kv_dtype": asked.kv_dtype,
        "kv_dtype_from": asked.kv_dtype_from,
        "tokens": answer.tokens,
        "users": asked.users,
        **engine.options(asked),
        "longest_text": asked.model.longest_text,
        "fits": answer.fits,
        "may_fit": answer.may_fit,
        "sequences": answer.sure.sequences if answer.tokens else 0,
        "available_bytes": total(answer.terms),
        "terms": [
            {
                "name": term.name,
                "sign": term.sign,
                "bytes": term.bytes,
                "best_bytes": term.best,
                "source": term.source,
            }
            for term in answer.terms
        ],
        **engine.figures(answer.sure),
        "best": {
            "available_bytes": total_at_best(answer.terms),
            "sequences": answer.best.sequences if answer.tokens else 0,
            **{key: value for key, value in best.items() if key in AT_BOTH_ENDS},
        },
        "remedies": [{"flag": remedy.flag, "text": remedy.text} for remedy in found],
        "notes": notes(answer),
    }
