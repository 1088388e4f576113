"""One printed number made a ``Check``, with the reasons that take the formula to it.

In: a number as printed, the formula's, the ``Subject``. Out: a ``Check``.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from fractions import Fraction

from kvdocs.explain import remarks
from kvdocs.explain.check import Check
from kvdocs.explain.reason import ENGINE, Reason
from kvdocs.explain.reasons import explain
from kvdocs.explain.subject import Subject
from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import Reading


def rate(
    key: str,
    title: str,
    line: int,
    ends: tuple[Fraction, Fraction, Fraction],
    formula: Fraction,
    subject: Subject,
    of: str,
    without: Container[str] = (),
) -> Check:
    """Bytes per token, printed and by the formula; ``ends`` as ``per_token`` has them."""
    unit = "bytes per token" + (" on one GPU" if subject.tp > 1 and of == ENGINE else "")
    return with_reasons(Check(key, title, line, *ends, formula, unit), subject, of, without)


def as_printed(
    key: str, title: str, reading: Reading, one: Printed, formula: Fraction, unit: str
) -> Check:
    """A check of one number of a reading."""
    return Check(key, title, reading.line, one.value, one.low, one.high, formula, unit)


def per_token(
    memory: Printed, tokens: Fraction, lost: int = 0
) -> tuple[Fraction, Fraction, Fraction]:
    """Memory ÷ tokens, and its ends: up to ``lost`` tokens more may have had room."""
    return memory.value / tokens, memory.low / (tokens + lost), memory.high / tokens


def with_reasons(check: Check, subject: Subject, of: str, without: Container[str] = ()) -> Check:
    """The check with its exact reasons, and none where it agrees; a model whose sliding layers are
    charged in full is told so."""
    if check.agrees:
        full = subject.sliding and len(subject.sliding) < len(subject.layout.layers)
        return with_notes(check, *((remarks.WINDOWS_FULL,) if full and of == ENGINE else ()))
    exact, instead = explain(check.low, check.high, check.formula, subject, of, without)
    return replace(with_notes(check, *exact), instead=instead)


def with_remarks(check: Check, *remarks: Reason) -> Check:
    """The check with what is worth knowing besides; a remark explains no number, so a check that
    contradicts stays bare."""
    return check if check.contradicts else with_notes(check, *remarks)


def with_notes(check: Check, *reasons: Reason) -> Check:
    """The check with these reasons besides."""
    return replace(check, reasons=tuple(dict.fromkeys((*check.reasons, *reasons))))
