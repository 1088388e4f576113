"""What a model's id on the Hub looks like.

In: a name. Out: nothing, or the ``LookupFailed`` that says it is no id.
"""

from __future__ import annotations

import re

from kvdocs.facts.models import LookupFailed

HUB_ID = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")


def check_id(name: str) -> None:
    """Refuse what cannot be a Hub id.

    Raises:
        LookupFailed: ``name`` is not written like ``organisation/model``.
    """
    if len(name) > 96 or not HUB_ID.fullmatch(name):
        shown = name if len(name) <= 96 else name[:93] + "..."
        remedy = "Write it as on the Hub, such as Qwen/Qwen2.5-7B-Instruct, or pass a file's path"
        raise LookupFailed(repr(shown), "it is neither a file nor a Hub id", remedy)
