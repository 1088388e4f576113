"""A public report put through the same code as a reader's log.

In: a ``Report``. Out: what was recognised in it, what it was held against, and the checks.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from kvdocs.facts import snapshot
from kvdocs.facts.reports import Report
from kvdocs.serving.check import Check
from kvdocs.serving.logs import Log, scan
from kvdocs.serving.reconcile import reconcile
from kvdocs.serving.subject import DEFAULT, Subject


@dataclass(frozen=True)
class Replay:
    """A report with what the code makes of it."""

    report: Report
    log: Log
    subject: Subject | None
    checks: tuple[Check, ...]


def replay(report: Report) -> Replay:
    """Scan the report's text and hold it against its model.

    Raises:
        ConfigError: no rule for its model.
    """
    log = scan(io.BytesIO(report.text.encode()))
    dtype = report.dtype or log.settings.kv_dtype
    subject = None
    if report.snapshot and (model := snapshot.load(report.snapshot)):
        subject = Subject.of(model, report.tp, dtype or DEFAULT, bool(dtype))
    elif report.layout:
        subject = Subject(report.layout, "", report.tp, dtype or DEFAULT, report.fields)
    return Replay(report, log, subject, tuple(reconcile(log, subject)))
