"""A public report put through the same code as a reader's log.

In: a ``Report``. Out: what was recognised in it, what it was held against, and the checks.
"""

from __future__ import annotations

import io

from kvdocs.explain.check import Check
from kvdocs.explain.reconcile import reconcile
from kvdocs.explain.subject import Subject, cache_dtype
from kvdocs.facts import snapshot
from kvdocs.facts.reports import Report
from kvdocs.logs.reading import EngineLog, scan
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class Replay:
    """A report with what the code makes of it."""

    report: Report
    log: EngineLog
    subject: Subject | None
    checks: tuple[Check, ...]


def replay(report: Report) -> Replay:
    """Scan the report's text and hold it against its model.

    Raises:
        ConfigError: no rule for its model.
    """
    log = scan(io.BytesIO(report.text.encode()))
    model = snapshot.load(report.snapshot) if report.snapshot else None
    stated = report.dtype or log.start_ups[0].kv_dtype
    dtype, known = cache_dtype(stated, model, log.start_ups[0].dtype)
    subject = None
    if model:
        subject = Subject.of(model, tp=report.tp, dtype=dtype, dtype_known=known)
    elif report.layout:
        subject = Subject(report.layout, tp=report.tp, dtype=dtype, fields=report.fields)
    return Replay(report, log, subject, tuple(reconcile(log, subject)))
