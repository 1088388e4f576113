"""Lengths against NumPy, moments against every step written out, estimates against simulation."""

import random
import statistics
import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdocs.workload.lengths import Workload, bins, mean, percentile, read
from kvdocs.workload.overflow import largest, overflow
from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server, simulate
from kvdocs.workload.space import Space

LENGTHS = st.lists(st.integers(1, 5000), min_size=1, max_size=200)
REQUESTS = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 60)), min_size=1, max_size=30)


def counted(requests):
    workload = Workload()
    for request in requests:
        workload.add(request)
    return workload


def pool(blocks):
    return Space.every_token(blocks + 1)


@given(LENGTHS, st.sampled_from([1, 50, 95, 99, 100]))
def test_percentiles_are_numpys(lengths, percent):
    wanted = np.percentile(lengths, percent, method="inverted_cdf")
    assert percentile(Counter(lengths), percent) == wanted
    assert float(mean(Counter(lengths))) == pytest.approx(np.mean(lengths))


@given(LENGTHS)
def test_bins_hold_every_request_once_in_its_place(lengths):
    found = bins(Counter(lengths))
    assert sum(count for _, _, count in found) == len(lengths)
    for low, high, count in found:
        assert count == sum(low <= length <= high for length in lengths)
    assert [low for low, _, _ in found[1:]] == [high + 1 for _, high, _ in found[:-1]]


@settings(deadline=None)
@given(REQUESTS)
def test_the_moments_are_all_steps_of_all_requests(pairs):
    """Each request alone in the simulation, one step after another."""
    requests = [Request(prompt, output) for prompt, output in pairs]
    steps = Counter(step.used_blocks for one in requests for step in simulate([one], Server(1000)))
    assert counted(requests).at_a_moment(pool(1000)) == dict(steps)


@settings(deadline=None)
@given(REQUESTS)
def test_the_end_is_the_last_of_these_steps_and_counts_as_often(pairs):
    requests = [Request(prompt, output) for prompt, output in pairs]
    ends = Counter()
    for one in requests:
        steps = list(simulate([one], Server(1000)))
        ends[steps[-1].used_blocks] += len(steps)
    assert counted(requests).at_their_most(pool(1000)) == dict(ends)


@settings(deadline=None, max_examples=40)
@given(REQUESTS, st.integers(10, 300), st.integers(1, 8))
def test_the_end_never_overflows_less_often_than_a_moment(pairs, blocks, sequences):
    workload = counted([Request(prompt, output) for prompt, output in pairs])
    space = pool(blocks)
    moment = overflow(workload.at_a_moment(space), blocks, sequences)
    end = overflow(workload.at_their_most(space), blocks, sequences)
    assert end >= moment - Fraction(1, 10**12)


def test_a_long_prompt_is_read_in_several_steps():
    found = counted([Request(prompt=5000, output=1)]).at_a_moment(pool(1000))
    assert found == {313: 3}  # 2,048 + 2,048 + 904 tokens


def drawn(seed, count):
    """Requests of a chat server in miniature: skewed, some ten times as long as others."""
    rng = random.Random(seed)
    return [
        Request(1 + int(rng.lognormvariate(4.2, 0.9)), 1 + int(rng.lognormvariate(2.5, 0.8)))
        for _ in range(count)
    ]


LOG = drawn("the log", 4000)
SEQUENCES, SEEDS, WARM, KEPT = 20, 20, 400, 2500


@pytest.fixture(scope="module")
def demand():
    """Blocks in use at every step of twenty busy servers with room for everything."""
    server = Server(10**9, max_num_seqs=SEQUENCES)
    runs = []
    for seed in range(SEEDS):
        requests = random.Random(seed).choices(LOG, k=6000)
        steps = (step.used_blocks for step in simulate(requests, server) if step.waiting)
        runs.append([used for used, _ in zip(steps, range(WARM + KEPT), strict=False)][WARM:])
        assert len(runs[-1]) == KEPT
    return runs


@pytest.mark.parametrize("blocks", [160, 180, 200, 220, 240])
def test_the_estimate_is_what_the_simulation_measures(demand, blocks):
    """The share of steps above a pool, against the estimate: within 3 standard errors, which are
    taken from the runs themselves, as steps after one another are alike and runs are not. The
    other view is far outside, so that the test can tell.
    """
    workload, space = counted(LOG), pool(blocks)
    estimate = float(overflow(workload.at_a_moment(space), blocks, SEQUENCES))
    end = float(overflow(workload.at_their_most(space), blocks, SEQUENCES))
    shares = [sum(used > blocks for used in run) / KEPT for run in demand]
    error = statistics.stdev(shares) / SEEDS**0.5
    assert 0.005 < estimate < 0.8
    assert error < 0.03
    assert abs(statistics.mean(shares) - estimate) < 3 * error
    assert end - statistics.mean(shares) > 5 * error


def test_in_a_real_pool_a_place_stays_without_blocks_as_often_as_was_said():
    """With preemption and admission, at the number planned for 5%: the share of steps in which one
    waits for blocks while a place is free, against the estimate, within 3 standard errors."""
    blocks = 250
    fit = largest(counted(LOG).at_a_moment(pool(blocks)), blocks, Fraction(5, 100))
    server, shares = Server(blocks, max_num_seqs=fit.sequences), []
    for seed in range(SEEDS):
        requests = random.Random(seed).choices(LOG, k=3000)
        steps = [step for step in simulate(requests, server) if step.waiting][WARM:]
        shares.append(sum(step.running < fit.sequences for step in steps) / len(steps))
    error = statistics.stdev(shares) / SEEDS**0.5
    assert 0.01 < fit.overflow <= 0.05
    assert error < 0.01
    assert abs(statistics.mean(shares) - float(fit.overflow)) < 3 * error


def preemptions(blocks, sequences):
    requests = random.Random("arrivals").choices(LOG, k=3000)
    steps = simulate(requests, Server(blocks, max_num_seqs=sequences))
    return sum(len(step.preempted) for step in steps)


def test_what_is_planned_for_1_percent_hardly_preempts_and_the_average_does():
    blocks = 250
    moment = counted(LOG).at_a_moment(pool(blocks))
    planned = largest(moment, blocks, Fraction(1, 100)).sequences
    average = int(blocks / float(mean(moment)))
    longest = blocks // max(counted(LOG).at_their_most(pool(blocks)))
    assert longest < planned < average
    assert preemptions(blocks, longest) == 0
    assert preemptions(blocks, planned) < 30  # of 3,000 requests
    assert preemptions(blocks, average) > 10 * preemptions(blocks, planned)


def test_reading_takes_the_same_memory_for_any_number_of_lines():
    def peak(count):
        log = (
            b'{"prompt_tokens": %d, "completion_tokens": 9}' % (n % 500 + 1) for n in range(count)
        )
        tracemalloc.start()
        read(log, "a log")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)  # what is made once, at first use
    assert peak(20_000) < peak(2000) + 200_000  # a single number kept a line would take 500,000


def test_bad_lines_are_counted_by_reason_and_quoted_by_number():
    good = b'{"prompt_tokens": 7, "completion_tokens": 3}\n'
    lines = [good] * 30 + [b"\n", b"{}\n", b"nonsense\n", good, b"{}\n"]
    log = read(lines, "a log")
    assert (log.workload.requests, log.lines, log.bad_lines) == (31, 34, 3)
    assert log.bad == {"no token counts": 2, "neither a JSON object nor text with token counts": 1}
    assert log.examples[0] == (32, "no token counts")
    assert [number for number, _ in log.examples] == [32, 33, 35]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "no lines"),
        ([b"\n", b"  \n"], "no lines"),
        ([b"x\n"] * 3, "3 of 3 lines hold no request"),
        ([b'{"prompt_tokens": 7, "completion_tokens": 3}\n'] * 8 + [b"x\n"], "line 9: neither"),
    ],
)
def test_too_many_bad_lines_are_refused(lines, says):
    with pytest.raises(ValueError, match=f"a log: .*{says}"):
        read(lines, "a log")
