"""The answer of ``kvdocs explain``: a log held against its model, as a value.

In: a log, and what it does not say itself. Out: an ``Explanation``, which prints as the table and
turns into the JSON. Nothing of the log is in it but the numbers of phrases that are known.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction

from kvdocs.explain.check import Check
from kvdocs.explain.planning import Planned, plan_of
from kvdocs.explain.reason import Reason
from kvdocs.explain.reconcile import not_compared, reconcile
from kvdocs.explain.run import runs_of
from kvdocs.explain.subject import DEFAULT, Subject, cache_dtype, check_dtype, has_size
from kvdocs.explain.table import table
from kvdocs.facts import snapshot
from kvdocs.facts.given import model_of
from kvdocs.facts.gpus import Gpu, gpu_named
from kvdocs.facts.models import LookupFailed, Model
from kvdocs.formula.layers import plural
from kvdocs.logs.reading import EngineLog, Reading, scan
from kvdocs.logs.start_up import StartUp
from kvdocs.options import check
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any

AGREES, CONTRADICTS = "explained", "contradicts"


@dataclass(frozen=True, kw_only=True)
class HeldStartUp:
    """One start-up of a log and what it is held against: ``subject`` is None where the model or the
    size of its cache dtype is not known. ``plan`` is what vLLM 0.33.0 makes of the memory printed,
    None where the log is another engine's or does not say enough."""

    start_up: StartUp
    subject: Subject | None
    plan: Planned | None

    def as_json(self) -> dict[str, Any]:
        """Under its documented keys."""
        start_up, held = self.start_up, self.subject
        version = ".".join(map(str, start_up.version))
        return {
            "line": start_up.line,
            "version": version or None,
            "model": held.name if held else None,
            "tensor_parallel": held.tp if held else start_up.tp,
            "kv_dtype": held.dtype if held else None,
            "kv_dtype_unknown": not held and not has_size(start_up.kv_dtype or DEFAULT),
            "bytes_per_token": _whole(held.rate()) if held else None,
            "planned": self.plan.as_json() if self.plan else None,
        }


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a log's numbers mean, and whether they add up; sizes in bytes.

    ``start_ups`` has at least one; ``not_compared`` are lines and why their numbers are compared
    with nothing; ``change`` is what the reader can do. ``str()`` gives the table.
    """

    log: EngineLog
    start_ups: tuple[HeldStartUp, ...]
    checks: tuple[Check, ...]
    not_compared: tuple[tuple[int, str], ...]

    @property
    def status(self) -> str:
        """``explained``, or ``contradicts`` where a number is neither equal nor has a reason."""
        return CONTRADICTS if any(check.contradicts for check in self.checks) else AGREES

    @property
    def change(self) -> tuple[str, ...]:
        """What to do, each thing once."""
        return tuple(dict.fromkeys(_changes(self.log.readings, self.checks)))

    def as_json(self) -> dict[str, Any]:
        """The answer under its documented keys; all that the table says is in it."""
        starts = [held.as_json() for held in self.start_ups]
        first = next((start for start in starts if start["model"]), starts[0])
        of_the_log = ("model", "tensor_parallel", "kv_dtype", "kv_dtype_unknown", "bytes_per_token")
        return {
            "engine": self.log.engine,
            "lines": self.log.lines,
            **{name: first[name] for name in of_the_log},
            "starts": starts,
            "readings": [
                {"times": self.log.times[place]} | _reading(reading)
                for place, reading in enumerate(self.log.readings)
            ],
            "checks": [_check(check) for check in self.checks],
            "not_compared": [{"line": line, "says": says} for line, says in self.not_compared],
            "change": list(self.change),
            "status": self.status,
        }

    def __str__(self) -> str:
        return table(self.as_json())


def explain(
    log: bytes | str | EngineLog,
    model: str | os.PathLike[str] | Mapping[str, Any] | Model | None = None,
    tp: int | None = None,
    kv_dtype: str | None = None,
    gpu: str | None = None,
    source: str = "the log",
) -> Explanation:
    """What the numbers in an engine's log, error or metrics mean, and whether they add up.

    ``model`` (a Hub id, a path, a config as a dict, or a ``Model``), ``tp`` ranks, ``kv_dtype``
    and ``gpu``, the card's name, are for what the log does not say; ``source`` is what messages
    call the log.

    Raises:
        LookupFailed: no phrase of the log is known, or there is no such model.
        ConfigError: no rule for the model.
        ValueError: an unknown dtype, or heads that cannot be split over so many ranks.

    >>> text = "Available KV cache memory: 6.51 GiB, GPU KV cache size: 42,656 tokens"
    >>> found = explain(text, model="Qwen/Qwen3-14B")
    >>> found.status, found.start_ups[0].subject.rate()
    ('explained', Fraction(163840, 1))
    """
    check({"tp": tp, "kv_dtype": kv_dtype, "gpu": gpu})
    if not isinstance(log, str | bytes | EngineLog):
        raise ValueError("a log is text: pass it as str or bytes")
    if isinstance(log, str):
        log = log.encode()
    if isinstance(log, bytes):
        log = scan(io.BytesIO(log))
    if not log.readings:
        raise LookupFailed(
            source,
            f"no known phrase of an engine in {plural(log.lines, 'line')}",
            "Known are start-up logs, errors and metrics of vLLM, SGLang, llama.cpp and "
            "TensorRT-LLM; in vLLM the line 'Available KV cache memory' must be among them",
        )
    if kv_dtype:
        check_dtype(kv_dtype)
    given = model_of(model) if model is not None else None
    card = gpu_named(gpu) if gpu is not None else None
    named = tuple(_subject(start_up, given, tp, kv_dtype, card) for start_up in log.start_ups)
    held = tuple(map(_comparable, named))
    plans: dict[int, Planned | None] = {}
    for run in runs_of(log, named):
        place = log.start_up_of(run.readings[0])
        plans[place] = plans.get(place) or plan_of(run)
    start_ups = zip(log.start_ups, held, strict=True)
    return Explanation(
        log=log,
        start_ups=tuple(
            HeldStartUp(start_up=start_up, subject=subject, plan=plans.get(place))
            for place, (start_up, subject) in enumerate(start_ups)
        ),
        checks=tuple(reconcile(log, *held)),
        not_compared=tuple(not_compared(log, *held)),
    )


def _subject(
    start_up: StartUp,
    given: Model | None,
    tp: int | None,
    kv_dtype: str | None,
    card: Gpu | None,
) -> Subject | None:
    """What a start-up is held against: as the arguments say, else as the log does."""
    model = given or snapshot.load(start_up.model or "")
    if model is None:
        return None
    dtype, known = cache_dtype(kv_dtype or start_up.kv_dtype, model, start_up.dtype)
    if not has_size(dtype):
        return None
    return Subject.of(
        model,
        tp=tp or start_up.tp or 1,
        dtype=dtype,
        dtype_known=known,
        pp=start_up.pp,
        dcp=start_up.dcp,
        card=card,
    )


def _comparable(subject: Subject | None) -> Subject | None:
    """None where no engine holds the model in its dtype: then nothing is compared with a rate, and
    the plan says why."""
    try:
        if subject:
            subject.rate()
    except ValueError:
        return None
    return subject


def _changes(readings: list[Reading], checks: tuple[Check, ...]) -> Iterator[str]:
    for reading in readings:
        counts = [printed.value for _, printed in reading.numbers]
        if reading.phrase.change and (not counts or any(counts)):  # not for a count of zero
            yield reading.phrase.change
    yield from (reason.change for check in checks for reason in check.reasons)


def _reading(reading: Reading) -> dict[str, Any]:
    phrase = reading.phrase
    return {
        "line": reading.line,
        "key": phrase.key,
        "engine": phrase.engine,
        "wording": phrase.wording,
        "phrase": reading.shown,
        "means": phrase.means,
        "numbers": {
            number.key: {
                "value": _whole(printed.value),
                "printed": printed.text,
                "unit": printed.quantity.unit,
                "scope": printed.quantity.scope,
            }
            for number, printed in reading.numbers
        },
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "key": check.key,
        "title": check.title,
        "line": check.line,
        "unit": check.unit,
        "printed": _whole(check.printed),
        "printed_from": _whole(check.low),
        "printed_to": _whole(check.high),
        "formula": _whole(check.formula),
        "ratio": round(float(check.ratio), 4) if check.ratio is not None else None,
        "agrees": check.agrees,
        "reasons": [_reason(reason) for reason in check.reasons],
        "or": [_reason(reason) for reason in check.instead],
    }


def _reason(reason: Reason) -> dict[str, Any]:
    names = ("key", "title", "says", "change", "inferred")
    return {name: getattr(reason, name) for name in names}


def _whole(value: Fraction) -> int | float:
    return int(value) if value == int(value) else float(value)
