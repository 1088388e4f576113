"""What one sequence takes in an engine, for ``kvdocs cost --engine``.

In: an engine's name, a model, a length. Out: a ``OneSequence``: the pool's own figures, as lines
for people and under keys for JSON.
"""

from __future__ import annotations

from kvdocs.engines import OfEngine
from kvdocs.engines import engine as engine_named
from kvdocs.facts.models import Model
from kvdocs.startup import dataclass
from kvdocs.units import row

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kvdocs.engines.protocol import Engine, Pool

# The sizes that a pool has for one sequence: name of the row, and what it is.
SIZES = {
    "bytes": ("sequence", "what it holds"),
    "stored_bytes": ("memory", "what is behind its tensors"),
    "writing_bytes": ("writing", "while it writes its answer"),
    "block_bytes": ("block", "{blocks:,} at most, {writing_blocks:,} while it writes"),
    "next_token_peak_bytes": ("peak", "while one more token joins"),
    "static_bytes": ("static", "a StaticCache of that length"),
    "expanded_bytes": ("expanded", "releases before {expanded_before}"),
}


@dataclass(frozen=True)
class OneSequence(OfEngine):
    """One sequence after a prompt of ``tokens`` tokens in the ``pool`` of an engine."""

    engine: Engine
    pool: Pool
    tokens: int

    def as_json(self) -> dict[str, Any]:
        """The figures under their documented keys; sizes in bytes."""
        name, _, version = self.engine.TITLE.partition(" ")
        return {
            "name": name,
            "version": version,
            "kv_dtype": self.pool.kv_dtype,
            "kv_dtype_from": self.pool.named_by,
            "kept_as": self.pool.kept_as,
            **self.pool.one_sequence(self.tokens),
        }


def lines(found: dict[str, Any], tokens: int) -> Iterator[str]:
    """The figures of a sequence of ``tokens`` tokens for people, made of those for JSON."""
    named = f" ({found['kv_dtype_from']})" if found["kv_dtype_from"] else ""
    yield f"in {found['name']} {found['version']}, after a prompt of {tokens:,} tokens"
    yield f"cache in {found['kept_as']}{named}"
    yield ""
    for key, (name, what) in SIZES.items():
        if found.get(key) is not None:
            yield f"{row(name, found[key])}  {what.format(**found)}"


def one_sequence(
    engine: str, model: Model, tokens: int, kv_dtype: str | None, encoder_tokens: int | None
) -> OneSequence:
    """One sequence of ``model``; ``kv_dtype`` None leaves the format to the engine.

    Raises:
        ValueError: there is no such engine, or it refuses the model or the format.
        ConfigError: a field of the config has no usable value.

    >>> from kvdocs.facts.snapshot import load
    >>> found = one_sequence("vllm", load("Qwen/Qwen2.5-7B-Instruct"), 4096, "fp8", None)
    >>> found.as_json()["bytes"]
    117440512
    """
    runs = engine_named(engine)
    # How long an encoder's output is matters to transformers only: vLLM plans for a whole step of
    # it, llama.cpp keeps none in its cache.
    encoder = {"encoder_tokens": encoder_tokens} if engine == "transformers" else {}
    flags = runs.flags(kv_dtype or "auto", **encoder)
    return OneSequence(runs, runs.hold(model, flags, None), tokens)
