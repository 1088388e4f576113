"""How a stated number looks on the page: the number, and on demand how it was got.

In: the HTML of a page in which stated numbers are links. Out: the same HTML with each as a button
and a native popover (no script needed), or as plain text where the page says ``{.quiet}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from html import escape, unescape
from itertools import count

from kvdocs.literal import Literal
from kvdocs.site.numbers import KINDS, REASONED, Checked
from kvdocs.site.words import Written
from kvdocs.units import BYTE_UNITS, exact

_ANCHOR = re.compile(
    rf'<a (?:class="(?P<quiet>quiet)" )?href="(?P<kind>{"|".join(KINDS)}):" '
    r'title="(?P<expression>[^"]*)">(?P<text>[^<]*)</a>'
)
CSS_KIND = {"kv": "computed", "arithmetic": "computed"}


def render(html: str, lookup: Callable[[str, str, str], Checked]) -> str:
    """The page with every stated number rendered.

    ``lookup(kind, text, expression)`` gives the checked number.

    Raises:
        ValueError: a link with one of the schemes is left, which no reader could follow.
    """
    numbers = count(1)

    def widget(match: re.Match[str]) -> str:
        text, expression = unescape(match["text"]), unescape(match["expression"])
        checked = lookup(match["kind"], text, expression)
        if match["quiet"]:
            return f'<span class="kv-quiet">{escape(text)}</span>'
        return _widget(checked, next(numbers))

    rendered = _ANCHOR.sub(widget, html)
    if left := re.search(rf'href="(?:{"|".join(KINDS)}):[^>]*>', rendered):
        raise ValueError(f"a stated number could not be rendered: {left[0]}")
    return rendered


def button(name: str, label: str, kind: str, parts: Iterable[tuple[str, str]]) -> str:
    """``label`` as a button that shows ``parts``, each a (CSS class, text) pair.

    ``name`` is the id of the popover and must be unique in its page.
    """
    lines = "".join(_element(css, text) for css, text in parts)
    return (
        f'<span class="kv"><button type="button" class="kv-number kv-{kind}" '
        f'popovertarget="{name}">{escape(label)}</button>'
        f'<span popover="auto" id="{name}" class="kv-pop" role="note">{lines}</span></span>'
    )


def _element(css: str, text: str) -> str:
    tag = "code" if css == "expr" else "span"  # the search index must not hold explanations
    return f'<{tag} class="kv-pop-{css}" data-search-exclude>{escape(text)}</{tag}>'


def _widget(checked: Checked, number: int) -> str:
    kind = CSS_KIND.get(checked.stated.kind, checked.stated.kind)
    return button(f"kv-{number}", checked.stated.text, kind, _explanation(checked))


def _explanation(checked: Checked) -> list[tuple[str, str]]:
    stated, answer = checked.stated, checked.answer
    if answer is None:
        raise ValueError(f"{stated.text!r} was not checked")
    value = exact_value(checked)
    parts = [("kind", KINDS[stated.kind]), *([("exact", value)] if value else [])]
    parts += [("how", line) for line in answer.how]
    if stated.kind not in REASONED:
        parts.append(("expr", stated.expression))
    return parts + [("source", line) for line in answer.sources]


def exact_value(checked: Checked) -> str:
    """The value with every digit it has; one that never ends has six places and a sign for it."""
    value = checked.answer.value if checked.answer else ""
    if isinstance(value, str):
        return "" if checked.stated.kind in REASONED else value
    memory = Written.read(checked.stated.text).unit in BYTE_UNITS
    if value == int(value):
        return exact(int(value)) if memory else f"{int(value):,}"
    digits = Literal.parse("0.000000").rewrite(value)
    ends = Fraction(digits.replace(",", "")) == value
    shown = digits.rstrip("0") if ends else f"≈ {digits}"
    return f"{shown} bytes" if memory else shown
