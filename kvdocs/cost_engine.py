"""``kvdocs cost --engine transformers``: what the engine's own cache takes, beside the answer.

In: a model and the answer of ``kvdocs cost``. Out: the answer's key ``engine``, and its lines.
"""

from __future__ import annotations

from kvdocs.cost import row
from kvdocs.engines.transformers.cache import (
    RELEASE,
    as_cached,
    cache_dtype,
    expanded,
    held,
    peak_of_next_token,
    static,
)
from kvdocs.facts.models import Model

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def by_transformers(model: Model, found: dict[str, Any]) -> dict[str, Any]:
    """What transformers' own cache takes after a prompt of ``tokens`` tokens, in bytes.

    ``bytes`` is what its tensors show and ``stored_bytes`` the memory behind them;
    ``next_token_peak_bytes`` the most it takes while one more token joins, null where the layers
    do not grow by concatenation; ``static_bytes`` a StaticCache for so many tokens;
    ``expanded_bytes`` what releases before ``expanded_before`` show of a latent cache, both null
    for other caches.

    Raises:
        ConfigError: a field that the cached shape needs is missing.
        ValueError: transformers does not cache in this dtype.
    """
    tokens, encoder = found["tokens"], found["encoder_tokens"]
    dtype = cache_dtype(found["kv_dtype"])
    layout = as_cached(model.layout, model.config, model.id)
    older = expanded(model.layout, model.config, model.id)
    now = held(layout, tokens, tokens, dtype, encoder or 0)
    return {
        "name": "transformers",
        "version": ".".join(map(str, RELEASE)),
        "bytes": now.shown,
        "stored_bytes": now.stored,
        "next_token_peak_bytes": peak_of_next_token(layout, tokens, tokens, dtype),
        "static_bytes": static(layout, tokens, dtype, encoder),
        "expanded_bytes": older[0].bytes(tokens, dtype, encoder) if older else None,
        "expanded_before": older[1] if older else None,
    }


def rows(found: dict[str, Any]) -> list[str]:
    """The lines for people."""
    engine = found["engine"]
    means = {
        "tensors": ("bytes", "what they show"),
        "memory": ("stored_bytes", "what is behind them"),
        "peak": ("next_token_peak_bytes", "while one more token joins"),
        "static": ("static_bytes", "a StaticCache of that length"),
        "expanded": ("expanded_bytes", f"releases before {engine['expanded_before']}"),
    }
    return [
        "",
        f"in {engine['name']} {engine['version']}, after a prompt of {found['tokens']:,} tokens",
        "",
        *(
            f"{row(name, engine[key])}  {what}"
            for name, (key, what) in means.items()
            if engine[key] is not None
        ),
    ]
