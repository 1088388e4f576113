"""A vLLM log of a model with windows or states, held against vLLM's own planning.

In: memory, tokens, concurrency and the longest request as printed. Out: ``Check``s of tokens and of
concurrency, because for such models no rate gives them. There are two rules. vLLM 0.33.0 prints
concurrency times the longest request (v1/core/kv_cache_utils.py:1143). Earlier releases divided the
blocks by the number of groups (vllm#40691): so do public logs of 0.19.0 and 0.20.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from kvdocs.engines.vllm.compressed import compresses
from kvdocs.engines.vllm.layers import RankState
from kvdocs.engines.vllm.pool import Options, Pool, plan
from kvdocs.engines.vllm.states import rank_state
from kvdocs.explain.check import Check
from kvdocs.explain.reasons import Reason
from kvdocs.explain.remarks import BY_GROUP, PERHAPS_SHARED, SHARED_PAGES
from kvdocs.explain.subject import Subject
from kvdocs.logs.phrase import Printed

# Defaults of max_num_batched_tokens, which a log does not always print (engine/arg_utils.py:2973).
IN_FLIGHT = (2048, 8192, 16384)
BY_GROUP_UNTIL = (0, 20)  # the last release known to divide blocks by groups
BY_REQUEST_FROM = (0, 33)  # the first one known not to


@dataclass(frozen=True)
class Setting:
    """What a log states of a start-up: tokens of a step, tokens of a block, the version, and the
    blocks that are set by hand; where it does not say, None and ()."""

    in_flight: int | None = None
    block: int = 16
    version: tuple[int, ...] = ()
    by_hand: int | None = None

    @property
    def by_group(self) -> tuple[bool, ...]:
        """Which of the rules may hold: blocks by groups (True), tokens of the requests (False)."""
        if not self.version:
            return (False, True)
        if self.version[:2] <= BY_GROUP_UNTIL:
            return (True,)
        return (False,) if self.version[:2] >= BY_REQUEST_FROM else (False, True)


def pools(subject: Subject, setting: Setting, length: int, early: bool = False) -> Iterator[Pool]:
    """vLLM's pools for what the log states; what it may not say is tried: the tokens of a step, and
    the kernel of a delta rule, which pads its states on newer cards. ``early``: a request keeps one
    step's tokens back, not those of two that overlap."""
    # DeepSeek V4 is held in a format of its own, whatever the dtype of the model.
    own = compresses(subject.layout) and not subject.dtype.startswith("fp8")
    for state in _states(subject):
        for batch in (setting.in_flight,) if setting.in_flight else IN_FLIGHT:
            try:
                options = Options(
                    length,
                    "auto" if own else subject.dtype,
                    setting.block,
                    subject.tp,
                    subject.pp,
                    subject.dcp,
                    max_num_batched_tokens=batch,
                    async_scheduling=not early,
                    state=state,
                )
                yield Pool.of(subject.layout, options)
            except ValueError:  # a dtype or a layer that vLLM 0.33.0 holds in another way
                return


def planned(
    memory: Printed,
    tokens: Fraction,
    line: int,
    length: int,
    setting: Setting,
    rules: tuple[bool, ...],
    subject: Subject,
) -> Check | None:
    """The check of the tokens, if they are what one of the rules gives for this memory."""
    if False in rules:
        for pool in pools(subject, setting, length):
            title = f"tokens as vLLM 0.33.0 plans them, {_step(pool)}"
            number = partial(requests_tokens, subject)
            found = _meets(("plan", title, line), tokens, tokens, memory, pool, setting, number)
            if found:
                return _with(found, _remark(setting))
    if True in rules:
        for pool in pools(subject, setting, length, early=True):
            many = len(pool.groups)
            title = f"tokens = blocks ÷ {many:,} groups × {smallest_block(pool):,}"
            head = "plan", title, line
            found = _meets(head, tokens, tokens, memory, pool, setting, _groups_tokens)
            if found and many > 1:
                return _with(found, BY_GROUP)
    return None


def concurrency(
    printed: Printed, line: int, memory: Printed, length: int, setting: Setting, subject: Subject
) -> Check | None:
    """The check of the concurrency, if it is what vLLM plans for this memory."""
    for early in setting.by_group:
        for pool in pools(subject, setting, length, early):
            title = f"concurrency as vLLM plans it, {_step(pool)}"
            found = _meets(
                ("concurrency", title, line),
                printed.low,
                printed.high,
                memory,
                pool,
                setting,
                lambda pool, blocks: Fraction(blocks, pool.request_blocks(length)),
                "×",
            )
            if found:
                return _with(found, _remark(setting))
    return None


def _meets(
    head: tuple[str, str, int],
    low: Fraction,
    high: Fraction,
    memory: Printed,
    pool: Pool,
    setting: Setting,
    number: Callable[[Pool, int], Fraction | int],
    unit: str = "tokens",
) -> Check | None:
    """A check of the printed number, if memory that prints alike gives one within its ends."""
    sizes = math.ceil(memory.low), round(memory.value), math.floor(memory.high)
    blocks = [setting.by_hand or pool.blocks(size) for size in sizes]
    least, formula, most = (Fraction(number(pool, count)) for count in blocks)
    if most < low or high < least:
        return None
    # Alike is what other memory of the same print gives, as far above and below.
    alike = low + formula - most, high + formula - least
    return Check(*head, (low + high) / 2, *alike, formula, unit)


def requests_tokens(subject: Subject, pool: Pool, blocks: int) -> int:
    """The tokens of so many blocks as vLLM 0.33.0 prints them."""
    return plan(subject.layout, pool.options, blocks * max(pool.block_bytes)).pool_tokens


def _groups_tokens(pool: Pool, blocks: int) -> int:
    spread = pool.options.decode_context_parallel_size
    return blocks // len(pool.groups) * smallest_block(pool) * spread


def smallest_block(pool: Pool) -> int:
    """Tokens of a block in the group where it holds the fewest."""
    return min(page.block_size for group in pool.groups for _, page in group.pages)


def _step(pool: Pool) -> str:
    return f"{pool.options.max_num_batched_tokens:,} tokens a step"


def _remark(setting: Setting) -> Reason:
    """That pages are shared; if the tokens of a step had to be tried, it is inferred."""
    return SHARED_PAGES if setting.in_flight else PERHAPS_SHARED


def _with(check: Check, remark: Reason) -> Check:
    return replace(check, reasons=(remark,))


def _states(subject: Subject) -> list[RankState | None]:
    """The states one rank may hold; [None] for a model without."""
    if not subject.has_states:
        return [None]
    try:
        states = (
            rank_state(subject.config, subject.tp, subject.name, newer) for newer in (False, True)
        )
        return list(dict.fromkeys(states))
    except ValueError:
        return []
