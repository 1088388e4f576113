"""``kvdocs fit``: how many sequences fit on a GPU, as a table for people or as JSON.

In: a model, a GPU or an amount of memory, an engine, and any of tokens and users. Out: how many
sequences of that length, the longest context of that many users, or whether they fit and what
would help. Exit status 0 where it fits, 1 where it does not.
"""

from __future__ import annotations

import argparse
import json

from kvdocs.facts.hub import find
from kvdocs.fit.answer import Answer, Helps, fit, what_helps
from kvdocs.fit.options import of_engine, question
from kvdocs.fit.table import notes, table

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

# What an engine makes of the memory at the better end of the ranges; all else is the same there.
AT_BOTH_ENDS = ("blocks", "pool_tokens", "max_concurrency", "n_ctx", "cache_bytes")
NO_OPTIONS = ("command", "model", "json")  # of the question


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs fit``; raises what ``find``, the formula and ``fit`` raise."""
    asked = {name: value for name, value in vars(args).items() if name not in NO_OPTIONS}
    answer = fit(question(find(args.model), **asked))
    found = what_helps(answer)
    print(json.dumps(as_json(answer, found), indent=2) if args.json else table(answer, found))
    return 0 if answer.fits else 1


def as_json(answer: Answer, found: list[Helps]) -> dict[str, Any]:
    """The answer under its documented keys; sizes in bytes, of one rank where there are several.

    ``available_bytes`` is the sum of ``terms``, each times its sign. ``best`` has the same figures
    with every range at its better end. Beside the keys that every engine has there are its own.
    """
    on, asked = answer.question.on, answer.question
    engine = of_engine(on.engine.KEY)
    best = engine.figures(answer.best)
    return {
        "model": on.model.id,
        "engine": on.engine.TITLE,
        "gpu": on.gpu.name if on.gpu else None,
        "kv_dtype": on.pool.kv_dtype,
        "kv_dtype_from": on.pool.named_by,
        "tokens": answer.tokens,
        "users": asked.users,
        **engine.options(on),
        "longest_text": on.model.longest_text,
        "fits": answer.fits,
        "may_fit": answer.may_fit,
        "sequences": answer.sure.sequences if answer.tokens else 0,
        "available_bytes": answer.available,
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
            "available_bytes": answer.available_at_best,
            "sequences": answer.best.sequences if answer.tokens else 0,
            **{key: value for key, value in best.items() if key in AT_BOTH_ENDS},
        },
        "remedies": [{"flag": one.flag, "text": one.text} for one in found],
        "notes": notes(answer),
    }
