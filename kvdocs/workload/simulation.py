"""Paged allocation with preemption, step by step, as vLLM 0.33.0 does it.

In: requests with their arrival, and the limits of a server. Out: what every step did. Nothing here
is random: the same requests give the same steps.

The rules, from vllm/v1/core/sched/scheduler.py and vllm/v1/core/kv_cache_manager.py of the 0.33.0
wheel, for layers that keep every token, without prefix caching and with scheduling in step with the
model (``--no-async-scheduling``):

1. Running sequences come first, in order of admission. Each gets the tokens it lacks, as far as the
   budget of the step goes, and the blocks for them. Where no block is free, the sequence admitted
   last is preempted, until there is one or the sequence itself had to go.
2. A preempted sequence loses all its blocks and goes to the head of the queue. It keeps the tokens
   it wrote and reads them again, with its prompt, when its turn comes (recompute).
3. In a step without preemption, sequences are admitted from the queue, in order, while there are
   budget and places. The first one whose whole text so far does not fit, with the watermark on top
   unless nothing runs, ends it. Only the blocks for the tokens of this step are taken.
4. A sequence whose text is read gets one more token at the end of the step. The last token of an
   answer is never read, so it takes no room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field

from kvdocs.startup import dataclass
from kvdocs.units import ceil_div
from kvdocs.workload.request_log import Request

BLOCK_TOKENS = 16  # vLLM 0.33.0: vllm/config/cache.py:185
MAX_NUM_BATCHED_TOKENS = 2048  # vLLM 0.33.0: vllm/engine/arg_utils.py:3001, cards below 70 GiB
MAX_NUM_SEQS = 256  # vLLM 0.33.0: vllm/engine/arg_utils.py:3005, cards below 70 GiB


@dataclass(frozen=True)
class Server:
    """The limits of a server. ``blocks`` are those that requests can have, ``watermark`` the blocks
    that an admission leaves free (vLLM's default: none)."""

    blocks: int
    max_num_seqs: int = MAX_NUM_SEQS
    max_num_batched_tokens: int = MAX_NUM_BATCHED_TOKENS
    watermark: int = 0
    block_tokens: int = BLOCK_TOKENS

    def blocks_for(self, tokens: int) -> int:
        """Blocks that ``tokens`` tokens of one sequence take."""
        return ceil_div(tokens, self.block_tokens)


@dataclass(frozen=True)
class Step:
    """One step: tokens read, sequences running and waiting, blocks in use before any is given back.

    ``admitted``, ``preempted`` and ``finished`` are positions in the list of requests.
    """

    tokens: int
    running: int
    waiting: int
    used_blocks: int
    admitted: tuple[int, ...]
    preempted: tuple[int, ...]
    finished: tuple[int, ...]


@dataclass
class _Sequence:
    index: int
    end: int  # tokens of prompt and answer
    text: int  # tokens so far: the prompt and what was generated
    read: int = 0  # of these, tokens whose keys and values are in the cache
    blocks: int = 0


@dataclass
class _State:
    server: Server
    waiting: deque[_Sequence] = field(default_factory=deque)
    running: list[_Sequence] = field(default_factory=list)
    used: int = 0
    budget: int = 0

    def extend(self, sequence: _Sequence) -> bool:
        """Read as much of a sequence as the budget allows; False where blocks are lacking."""
        tokens = min(sequence.text - sequence.read, self.budget)
        lacking = self.server.blocks_for(sequence.read + tokens) - sequence.blocks
        if self.used + lacking > self.server.blocks:
            return False
        sequence.blocks += lacking
        sequence.read += tokens
        self.used += lacking
        self.budget -= tokens
        return True

    def drop(self, sequence: _Sequence) -> None:
        """Take a sequence's blocks back."""
        self.used -= sequence.blocks
        sequence.blocks = sequence.read = 0


def simulate(
    requests: Sequence[Request], server: Server, arrivals: Sequence[int] = ()
) -> Iterator[Step]:
    """The steps until every request has its answer.

    ``arrivals`` names for each request the step before which it arrives, in rising order; without
    it all are there from the start.

    Raises:
        ValueError: a request could never be served, as it needs more blocks than there are.
    """
    for index, one in enumerate(requests):
        if server.blocks_for(one.prompt + max(one.output, 1) - 1) > server.blocks:
            raise ValueError(
                f"request {index}, {one.prompt + one.output:,} tokens, needs more than the "
                f"{server.blocks:,} blocks of the pool. Give a larger pool or shorter requests"
            )
    if arrivals and (len(arrivals) != len(requests) or list(arrivals) != sorted(arrivals)):
        raise ValueError("arrivals name one step for each request, in rising order")
    coming = deque(
        (arrival, _Sequence(index, one.prompt + max(one.output, 1), one.prompt))
        for index, (one, arrival) in enumerate(
            zip(requests, arrivals or [0] * len(requests), strict=True)
        )
    )
    state, number = _State(server), 0
    while coming or state.waiting or state.running:
        while coming and coming[0][0] <= number:
            state.waiting.append(coming.popleft()[1])
        yield _step(state)
        number += 1


def _step(state: _State) -> Step:
    state.budget = state.server.max_num_batched_tokens
    preempted = _continue(state)
    admitted = () if preempted else _admit(state)
    tokens = state.server.max_num_batched_tokens - state.budget
    running, used = len(state.running), state.used
    return Step(tokens, running, len(state.waiting), used, admitted, preempted, _generate(state))


def _continue(state: _State) -> tuple[int, ...]:
    """Give the running sequences their tokens; returns those that were preempted for it."""
    preempted, position = [], 0
    while position < len(state.running) and state.budget > 0:
        sequence = state.running[position]
        while not state.extend(sequence):
            last = state.running.pop()
            state.drop(last)
            state.waiting.appendleft(last)
            preempted.append(last.index)
            if last is sequence:
                return tuple(preempted)
        position += 1
    return tuple(preempted)


def _admit(state: _State) -> tuple[int, ...]:
    """Take sequences from the queue; returns those admitted."""
    admitted, server = [], state.server
    while state.waiting and state.budget > 0 and len(state.running) < server.max_num_seqs:
        sequence = state.waiting[0]
        spare = server.watermark if state.running else 0
        if state.used + server.blocks_for(sequence.text) + spare > server.blocks:
            break
        state.running.append(state.waiting.popleft())
        state.extend(sequence)
        admitted.append(sequence.index)
    return tuple(admitted)


def _generate(state: _State) -> tuple[int, ...]:
    """One more token for every sequence whose text is read; returns those that are done."""
    finished = []
    for sequence in state.running:
        if sequence.read == sequence.text:
            sequence.text += 1
            if sequence.text == sequence.end:
                state.drop(sequence)
                finished.append(sequence)
    if finished:
        state.running = [one for one in state.running if one.text < one.end]
    return tuple(one.index for one in finished)
