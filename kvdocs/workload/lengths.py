"""How long the requests of a log are, and how much of a pool each holds at a moment.

In: the lines of a log, and a ``Space``. Out: a ``Workload``: histograms of whole numbers, whose
size depends on the longest request and not on the number of lines.

Two views of one running sequence, as weights over blocks for ``kvdocs.workload.overflow``:

*At a moment.* A server that is never idle runs N sequences; one that ends makes room for the next
of the log. Look at it after a random step. A request of P prompt and O answer tokens is read in the
first step, or in several where the prompt is longer than a batch, and writes for O - 1 more, with
P + 1 to P + O - 1 tokens held: long answers are met more often than they stand in the log. The
number of steps at which t tokens are held while writing is the number of requests with
P < t < P + O: the prompts below t minus the totals up to t. Two histograms give it exactly.
While a prompt is read in several steps it is counted as read, which errs to the safe side.

*At their most.* The same sequences, each with the most it will hold when its prompt is read: what
is needed, beside the batch in flight, if none may wait for another to end.

Both take sequences as independent draws from the log, and share no beginnings. A log in which long
requests arrive together needs more; prefix caching needs less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from fractions import Fraction

from kvdocs.startup import dataclass
from kvdocs.units import ceil_div
from kvdocs.workload.request_log import BadLine, Count, Request, read_line
from kvdocs.workload.space import Space

EXAMPLES = 5  # bad lines that are quoted by number
MOST_BAD = Fraction(1, 10)  # of all lines; a log with more is refused

Histogram = Counter[int]


@dataclass
class Workload:
    """Histograms over tokens: how many requests have a prompt, an answer, a total of that length.

    ``steps`` says how many steps the requests of a total took, one a token of the answer. An answer
    of 0 tokens counts as 1: an engine that has read a prompt samples a token.

    >>> log = Workload()
    >>> log.add(Request(prompt=100, output=50))
    >>> log.totals, log.steps
    (Counter({150: 1}), Counter({150: 50}))
    """

    prompts: Histogram = field(default_factory=Counter)
    outputs: Histogram = field(default_factory=Counter)
    totals: Histogram = field(default_factory=Counter)
    steps: Histogram = field(default_factory=Counter)

    def add(self, request: Request) -> None:
        """Count one request."""
        output = max(request.output, 1)
        self.prompts[request.prompt] += 1
        self.outputs[output] += 1
        self.totals[request.prompt + output] += 1
        self.steps[request.prompt + output] += output

    def longer_than(self, tokens: int) -> int:
        """How many requests have more tokens in all."""
        return sum(count for total, count in self.totals.items() if total > tokens)

    @property
    def requests(self) -> int:
        """How many requests were counted."""
        return self.totals.total()

    def at_a_moment(self, space: Space) -> dict[int, int]:
        """Blocks held -> steps at which a request held them."""
        found: Histogram = Counter()
        for prompt, requests in self.prompts.items():
            found[space.most(prompt)] += requests * ceil_div(prompt, space.batch)
        writing = 0
        for tokens in range(min(self.prompts) + 1, max(self.totals)):
            writing += self.prompts[tokens - 1] - self.totals[tokens]
            found[space.writing(tokens)] += writing
        return {held: steps for held, steps in found.items() if steps}

    def at_their_most(self, space: Space) -> dict[int, int]:
        """The most blocks a request will hold while it writes -> steps of all that reach them."""
        found: Histogram = Counter()
        for total, steps in self.steps.items():
            found[space.writing(total - 1)] += steps
        return dict(found)


@dataclass(frozen=True)
class Log:
    """What a log said: its workload, its lines (blank ones aside), and the lines without a request.

    ``bad`` counts them by reason; ``examples`` are the first of them, as (line number, reason).
    """

    workload: Workload
    lines: int
    bad: Mapping[str, int]
    examples: tuple[tuple[int, str], ...]

    @property
    def bad_lines(self) -> int:
        """How many lines held no request."""
        return sum(self.bad.values())


def read(lines: Iterable[bytes], name: str, count: Count | None = None) -> Log:
    """Count the requests of a log; ``name`` is what errors call it.

    Raises:
        ValueError: there is no request, or more than a tenth of the lines hold none.
    """
    workload, bad, seen = Workload(), Counter[str](), 0
    examples: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        seen += 1
        try:
            workload.add(read_line(line, count))
        except BadLine as error:
            bad[str(error)] += 1
            if len(examples) < EXAMPLES:
                examples.append((number, str(error)))
    found = Log(workload, seen, dict(bad.most_common()), tuple(examples))
    if not seen:
        raise ValueError(f"{name}: no lines. Give a log with one request a line")
    if found.bad_lines > MOST_BAD * seen:
        quoted = "; ".join(f"line {number}: {reason}" for number, reason in examples)
        raise ValueError(
            f"{name}: {found.bad_lines:,} of {seen:,} lines hold no request ({quoted}). A line "
            "is a JSON object, or text, with prompt_tokens and completion_tokens"
        )
    return found


def percentile(histogram: Mapping[int, int], percent: int | Fraction) -> int:
    """The smallest length that at least ``percent`` in a hundred requests do not exceed.

    >>> percentile({10: 98, 500: 1, 9000: 1}, 99), percentile({10: 98, 500: 1, 9000: 1}, 50)
    (500, 10)
    """
    wanted, seen = Fraction(percent, 100) * sum(histogram.values()), 0
    for length in sorted(histogram):
        seen += histogram[length]
        if seen >= wanted:
            return length
    raise ValueError("no requests")


def mean(histogram: Mapping[int, int]) -> Fraction:
    """The average length.

    >>> mean({10: 3, 50: 1})
    Fraction(20, 1)
    """
    total = sum(length * count for length, count in histogram.items())
    return Fraction(total, sum(histogram.values()))


def bins(histogram: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Requests by length, as (from, up to and including, requests), two bins to a doubling.

    >>> bins({70: 2, 96: 1, 130: 5})
    [(64, 95, 2), (96, 127, 1), (128, 191, 5)]
    """
    low, high = _edge(min(histogram)), max(histogram)
    edges = [low]
    while edges[-1] <= high:
        edges.append(next_edge(edges[-1]))
    counts = [0] * (len(edges) - 1)
    place = 0
    for length in sorted(histogram):
        while length >= edges[place + 1]:
            place += 1
        counts[place] += histogram[length]
    return [(edges[i], edges[i + 1] - 1, count) for i, count in enumerate(counts)]


def next_edge(edge: int) -> int:
    """The edge after one: 1, 2, 3, 4, 6, 8, 12, 16 …"""
    power = 1 << (edge.bit_length() - 1)
    return edge + max(power // 2, 1)


def _edge(length: int) -> int:
    """The last edge at or below a length."""
    edge = 1 << (length.bit_length() - 1)
    return next_edge(edge) if next_edge(edge) <= length else edge
