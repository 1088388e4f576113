"""The answer of ``kvdocs workload``: a log's lengths, and how many of its sequences a pool holds.

In: a log, and what serves it: a model in vLLM on a card, or memory for its cache, or a number of
tokens. Out: an ``Answer``, which prints as a table for people and turns into JSON whose keys are
stable. ``kvdocs.workload(…)`` in Python is ``workload`` here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from kvdocs.engines.vllm.hold import TITLE
from kvdocs.facts.models import Model
from kvdocs.options import check
from kvdocs.startup import dataclass
from kvdocs.units import gib
from kvdocs.workload.estimates import Estimate, estimates
from kvdocs.workload.lengths import Histogram, Log, bins, mean, percentile, read
from kvdocs.workload.options import OPTIONS, Served, risk_of, served
from kvdocs.workload.request_log import lines, opened
from kvdocs.workload.request_log import tokenizer as counter

PERCENTILES = (50, 95, 99)
LENGTHS = ("prompt", "output", "total")


def workload(
    log: str | os.PathLike[str] | Iterable[str | bytes],
    *,
    model: str | os.PathLike[str] | Mapping[str, Any] | Model | None = None,
    gpu: str | None = None,
    available: str | int | None = None,
    pool_tokens: int | None = None,
    weights: str | int | None = None,
    kv_dtype: str | None = None,
    tp: int | None = None,
    pp: int | None = None,
    utilization: str | float | Fraction | None = None,
    max_num_batched_tokens: int | None = None,
    max_model_len: int | None = None,
    risk: str | float | Fraction = "1%",
    tokenizer: str | os.PathLike[str] | None = None,
    name: str = "the log",
) -> Answer:
    """The lengths of a log's requests; where a pool is described, how many it has room for.

    ``log`` is a path, ``-`` for standard input, or the lines themselves, which errors then call
    ``name``. ``model`` is a Hub id, a path, a config as a dict, or a ``Model``. The memory for its
    cache is what ``available`` says, in bytes or as text such as ``10GiB``, else what ``gpu``
    leaves for it, with every range at its worse end. ``pool_tokens`` is vLLM's own figure, and
    needs no model. The rest are the options of ``kvdocs workload``.

    Raises:
        ValueError: no request in the log, no room in the pool, no such model, card or size, or
            vLLM refuses the model under these flags.

    >>> found = workload(['{"prompt_tokens": 900, "completion_tokens": 100}'], pool_tokens=16_000)
    >>> found.plans[-1].sequences
    16
    """
    options = locals()  # as the caller gave them, by name
    check(options)
    pool = served({name: options[name] for name in OPTIONS})
    chance = risk_of(risk)
    count = counter(os.fspath(tokenizer)) if tokenizer is not None else None
    if isinstance(log, str | os.PathLike):
        path = os.fspath(log)
        name = "standard input" if path == "-" else path
        with opened(path) as file:
            found = read(lines(file), name, count)
    else:
        found = read(map(_line, log), name, count)
    plans = estimates(found.workload, pool.space, chance, max_model_len) if pool else []
    return Answer(name, found, pool, chance, max_model_len, tuple(plans))


def _line(given: str | bytes) -> bytes:
    """A line as bytes.

    Raises:
        ValueError: it is no text.
    """
    if not isinstance(given, str | bytes):
        raise ValueError(f"a log is lines of text, and {str(given)[:40]!r} is none")
    return given.encode() if isinstance(given, str) else given


@dataclass(frozen=True)
class Answer:
    """A log's lengths, and its ``plans`` for a pool: none where no pool was described.

    ``str()`` gives the table. ``risk`` is the probability of outgrowing the pool that was allowed,
    ``max_model_len`` the server's limit in tokens, None where it was not given.
    """

    name: str
    log: Log
    served: Served | None
    risk: Fraction
    max_model_len: int | None
    plans: tuple[Estimate, ...]

    @property
    def fits(self) -> bool:
        """Whether the pool has room for one sequence of the log at that risk; True without one."""
        return not self.plans or self.plans[-1].sequences > 0

    @property
    def over_limit(self) -> int:
        """Requests longer than ``max_model_len``, which vLLM refuses or cuts."""
        return self.log.workload.longer_than(self.max_model_len) if self.max_model_len else 0

    @property
    def notes(self) -> list[str]:
        """What to know beside the answer."""
        return [*self._notes()]

    def _notes(self) -> Iterator[str]:
        deployment = self.served.deployment if self.served else None
        if self.served is None or deployment is None:
            return
        if len(self.served.terms) > 1 and self.served.available is not None:
            yield (
                f"{gib(*[self.served.available] * 2)} for the cache is the sum of kvdocs fit with "
                "every range at its worse end; vLLM logs its own figure, which --available takes"
            )
        longest = deployment.model.longest_text
        if longest and (over := self.log.workload.longer_than(longest)):
            yield (
                f"the model was made for {longest:,} tokens; requests in the log that are longer: "
                f"{over:,}"
            )

    def as_json(self) -> dict[str, Any]:
        """The answer under its documented keys; lengths in tokens, ``overflow`` from 0 to 1."""
        log, counted = self.log, self.log.workload
        lengths = (counted.prompts, counted.outputs, counted.totals)
        found: dict[str, Any] = {
            "file": self.name,
            "requests": counted.requests,
            "lines": log.lines,
            "bad_lines": log.bad_lines,
            "bad": dict(log.bad),
            "examples": [{"line": number, "reason": reason} for number, reason in log.examples],
            **{key: _lengths(one) for key, one in zip(LENGTHS, lengths, strict=True)},
            "histogram": [
                {"from": low, "to": high, "requests": count}
                for low, high, count in bins(lengths[2])
            ],
        }
        if not self.served:
            return found
        return found | {
            "pool_blocks": self.served.space.blocks,
            "risk": float(self.risk),
            "max_model_len": self.max_model_len,
            "over_limit": self.over_limit,
            "plans": [asdict(plan) | {"overflow": float(plan.overflow)} for plan in self.plans],
            "fits": self.fits,
            "notes": self.notes,
            **_pool(self.served),
        }

    def table(self) -> str:
        """The answer for people."""
        from kvdocs.workload.table import table

        return table(self.as_json())

    __str__ = table


def _lengths(histogram: Histogram) -> dict[str, int]:
    percentiles = {f"p{percent}": percentile(histogram, percent) for percent in PERCENTILES}
    return {"mean": round(mean(histogram)), **percentiles, "longest": max(histogram)}


def _pool(served: Served) -> dict[str, Any]:
    """What serves the log, under the keys of ``kvdocs fit``; empty where no model was named."""
    if served.deployment is None or served.pool is None:
        return {}
    asked, options = served.deployment, served.pool.options
    return {
        "model": asked.model.id,
        "longest_text": asked.model.longest_text,
        "engine": TITLE,
        "gpu": asked.gpu.name if asked.gpu else None,
        "kv_dtype": served.pool.kv_dtype,
        "kv_dtype_from": served.pool.named_by,
        "kv_dtype_kept": served.pool.kept,
        "kept_as": served.pool.kept_as,
        "tp": options.tensor_parallel_size,
        "pp": options.pipeline_parallel_size,
        "max_num_batched_tokens": options.max_num_batched_tokens,
        "block_bytes": max(served.pool.block_bytes),
        "available_bytes": served.available,
        "terms": [term.as_json() for term in served.terms],
    }
