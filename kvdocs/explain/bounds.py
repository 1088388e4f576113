"""How far a printed number may lie from the formula where a log does not say all that decides it.

In: a ``Subject``, tokens and the longest request as printed. Out: what they take at least and at
most. A number outside has no inferred reason.
"""

from __future__ import annotations

from fractions import Fraction

from kvdocs.explain.plans import pools, smallest_block
from kvdocs.explain.run import Run
from kvdocs.explain.subject import Subject
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.vllm.layers import Options, Page
    from kvdocs.engines.vllm.pool import Pool

PADDED = 2  # times: the most that padding adds where vLLM's pages are not known here
MOST_LOST = Fraction(3, 2)  # a rank with more than this beyond another's is not "a bit more free"
OWN_LEAST, OWN_MOST = Fraction(1, 2), Fraction(5, 4)  # eight of sixteen bits; eight bits and scales


@dataclass(frozen=True)
class Span:
    """Bytes on one GPU: ``least`` with every window at its steady state and one state a request,
    ``most`` with all layers charged for every token in whole pages; None where that is unknown."""

    least: Fraction
    most: Fraction | None

    def meets(self, low: Fraction, high: Fraction) -> bool:
        """Whether something between these two can be true of it."""
        return self.least <= high and (self.most is None or low <= self.most)

    def times(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction | None]:
        """``low`` times the least to ``high`` times the most."""
        return low * self.least, None if self.most is None else high * self.most


def of_requests(run: Run, subject: Subject, tokens: Fraction, length: int | None) -> Span:
    """What a pool of ``tokens`` takes, held by requests of ``length`` tokens each, or by one."""
    each = Fraction(length) if length else max(tokens, Fraction(1))
    found = [_span(pool, tokens, each) for pool in pools(run, subject)]
    if found:
        return Span(min(least for least, _ in found), max(most for _, most in found))
    most = None if subject.has_states else tokens * subject.rate() * PADDED
    return Span(tokens * subject.only(subject.full).rate(), most)


def _span(pool: Pool, tokens: Fraction, each: Fraction) -> tuple[Fraction, Fraction]:
    size, number = max(pool.block_bytes), tokens / each
    least, most = (sum(_blocks(pool, int(each), every)) for every in (False, True))
    # Tokens are the requests', or as many as each group has room for (see ``plans``).
    of_a_group = tokens / smallest_block(pool) / pool.options.decode_context_parallel_size + 2
    return number * least * size, max(number * most, len(pool.groups) * of_a_group) * size


def _blocks(pool: Pool, tokens: int, every: bool) -> list[int]:
    return [
        max(_of_page(page, pool.options, tokens, every) for _, page in group.pages)
        for group in pool.groups
    ]


def _of_page(page: Page, options: Options, tokens: int, every: bool) -> int:
    if page.kind == "state":
        return page.request_blocks(tokens, options) if every else 1
    if page.kind == "cross":
        return page.request_blocks(tokens, options) if every else 0
    if page.window is None:
        return page.request_blocks(tokens, options)
    return (
        ceil_div(tokens, page.block_size) + 1
        if every
        else ceil_div(min(page.window, tokens), page.block_size)
    )


def in_own_format(ratio: Fraction) -> bool:
    """Whether a rate that far from the formula's can be that of an engine's own eight bits."""
    return OWN_LEAST <= ratio <= OWN_MOST
