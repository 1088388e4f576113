"""A vLLM log of a model with windows or states, held against vLLM's own planning.

In: memory, tokens, concurrency and the longest request as printed. Out: ``Check``s of tokens and of
concurrency, because for such models no rate gives them. There are two rules. vLLM 0.33.0 prints
concurrency times the longest request (v1/core/kv_cache_utils.py:1143). Earlier releases divided the
blocks by the number of groups (vllm#40691): so do public logs of 0.19.0 and 0.20.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from kvdocs.engines.vllm import VERSION
from kvdocs.explain.check import Check
from kvdocs.explain.reason import Reason
from kvdocs.explain.remarks import BY_GROUP, PERHAPS_SHARED, SHARED_PAGES
from kvdocs.explain.run import Run
from kvdocs.explain.subject import Subject
from kvdocs.logs.phrase import Printed

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.vllm.memory import Flags
    from kvdocs.engines.vllm.pool import Pool
    from kvdocs.facts.gpus import Gpu

# Defaults of max_num_batched_tokens, which a log does not always print (engine/arg_utils.py:2973).
IN_FLIGHT = (2048, 8192, 16384)
NEWER = "h100_80gb"  # a card on which the kernel of a delta rule pads its states
BY_GROUP_UNTIL = (0, 20)  # the last release known to divide blocks by groups
BY_REQUEST_FROM = (0, 33)  # the first one known not to


def flags_of(run: Run, subject: Subject, early: bool = False) -> Flags:
    """vLLM's flags as the log states them. ``early``: a request keeps one step's tokens back, not
    those of two that overlap.

    Raises:
        ValueError: a value that is none.
    """
    from kvdocs.engines.vllm.memory import Flags  # which logs of other engines do without

    return Flags(
        kv_cache_dtype=subject.flag,
        tensor_parallel_size=subject.tp,
        pipeline_parallel_size=subject.pp,
        decode_context_parallel_size=subject.dcp,
        max_num_batched_tokens=run.start_up.in_flight,
        block_size=run.block,
        async_scheduling=not early,
    )


def pools(run: Run, subject: Subject, early: bool = False) -> Iterator[Pool]:
    """vLLM's pools for what the log states; what it may not say is tried: the tokens of a step, and
    for states the card. None where vLLM 0.33.0 holds such a dtype or layer in another way, and
    where there is a layout but no config."""
    if not subject.model:
        return
    stated = run.start_up.in_flight
    from kvdocs.engines.vllm.hold import hold

    tried = []
    unknown = subject.has_states and not subject.card
    for card in (None, _newer_card()) if unknown else (subject.card,):
        for batch in (stated,) if stated else IN_FLIGHT:
            try:
                flags = replace(flags_of(run, subject, early), max_num_batched_tokens=batch)
                pool = hold(subject.model, flags, card)
            except ValueError:
                return
            if pool not in tried:
                tried.append(pool)
                yield pool


def _newer_card() -> Gpu:
    from kvdocs.facts.gpus import load_gpus

    return load_gpus()[NEWER]


def rules(run: Run) -> tuple[bool, ...]:
    """Which may hold in that version: blocks by groups (True), tokens of the requests (False)."""
    version = run.start_up.version[:2]
    if not version:
        return (False, True)
    if version <= BY_GROUP_UNTIL:
        return (True,)
    return (False,) if version >= BY_REQUEST_FROM else (False, True)


def tokens_check(
    run: Run,
    subject: Subject,
    memory: Printed,
    tokens: tuple[Fraction, int],
    length: int,
    allowed: tuple[bool, ...],
) -> Check | None:
    """The check of the tokens (and their line), if they are what one of the rules gives for this
    memory."""
    printed, line = tokens
    if False in allowed:
        for pool in pools(run, subject):
            title = f"tokens as vLLM {VERSION} plans them, {_step(pool)}"
            number = _by_requests(length)
            found = _meets(("plan", title, line), (printed, printed), memory, pool, run, number)
            if found:
                return _with(found, _remark(run))
    if True in allowed:
        for pool in pools(run, subject, early=True):
            many = len(pool.groups)
            title = f"tokens = blocks ÷ {many:,} groups × {smallest_block(pool):,}"
            head = "plan", title, line
            found = _meets(head, (printed, printed), memory, pool, run, _by_groups)
            if found and many > 1:
                return _with(found, BY_GROUP)
    return None


def concurrency_check(
    run: Run, subject: Subject, printed: Printed, line: int, memory: Printed, length: int
) -> Check | None:
    """The check of the concurrency, if it is what vLLM plans for this memory."""
    for early in rules(run):
        for pool in pools(run, subject, early):
            title = f"concurrency as vLLM plans it, {_step(pool)}"
            head, ends = ("concurrency", title, line), (printed.low, printed.high)
            found = _meets(head, ends, memory, pool, run, _concurrency(length), "×")
            if found:
                return _with(found, _remark(run))
    return None


def _meets(
    head: tuple[str, str, int],
    ends: tuple[Fraction, Fraction],
    memory: Printed,
    pool: Pool,
    run: Run,
    number: Callable[[Pool, int], Fraction | int],
    unit: str = "tokens",
) -> Check | None:
    """A check of the printed number, if memory that prints alike gives one within its ends."""
    low, high = ends
    sizes = math.ceil(memory.low), round(memory.value), math.floor(memory.high)
    blocks = [run.by_hand or pool.blocks(size) for size in sizes]
    least, formula, most = (Fraction(number(pool, count)) for count in blocks)
    if most < low or high < least:
        return None
    # Alike is what other memory of the same print gives, as far above and below.
    alike = low + formula - most, high + formula - least
    return Check(*head, (low + high) / 2, *alike, formula, unit)


def _concurrency(length: int) -> Callable[[Pool, int], Fraction]:
    return lambda pool, blocks: Fraction(blocks, pool.request_blocks(length))


def _by_requests(length: int) -> Callable[[Pool, int], int]:
    return lambda pool, blocks: requests_tokens(pool, blocks, length)


def requests_tokens(pool: Pool, blocks: int, length: int) -> int:
    """The tokens of so many blocks as vLLM 0.33.0 prints them."""
    return pool.plan(blocks * max(pool.block_bytes), length).pool_tokens


def _by_groups(pool: Pool, blocks: int) -> int:
    spread = pool.options.decode_context_parallel_size
    return blocks // len(pool.groups) * smallest_block(pool) * spread


def smallest_block(pool: Pool) -> int:
    """Tokens of a block in the group where it holds the fewest."""
    return min(page.block_size for group in pool.groups for _, page in group.pages)


def _step(pool: Pool) -> str:
    return f"{pool.options.max_num_batched_tokens:,} tokens a step"


def _remark(run: Run) -> Reason:
    """That pages are shared; if the tokens of a step had to be tried, it is inferred."""
    return SHARED_PAGES if run.start_up.in_flight else PERHAPS_SHARED


def _with(check: Check, remark: Reason) -> Check:
    return replace(check, reasons=(remark,))
