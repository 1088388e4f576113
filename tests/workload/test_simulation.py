"""The simulation's rules, one by one, and the experiment of 38 requests.

That the whole of it does what vLLM does is held in tests/evidence/test_scheduling.py.
"""

import pytest

from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server, simulate


def steps(requests, arrivals=(), **limits):
    return list(simulate(requests, Server(**limits), arrivals))


def test_a_request_holds_whole_blocks_and_never_its_last_token():
    found = steps([Request(prompt=15, output=3)], blocks=10)
    assert [one.used_blocks for one in found] == [1, 1, 2]  # 15, 16 and 17 tokens are read
    assert [one.tokens for one in found] == [15, 1, 1]
    assert found[-1].finished == (0,)


def test_a_long_prompt_is_read_in_chunks_and_takes_blocks_as_it_goes():
    found = steps([Request(100, 1)], blocks=10, max_num_batched_tokens=48)
    assert [(one.tokens, one.used_blocks) for one in found] == [(48, 3), (48, 6), (4, 7)]


def test_admission_looks_at_the_whole_prompt_and_not_at_the_answer_to_come():
    pair = [Request(prompt=80, output=60), Request(prompt=80, output=60)]
    found = steps(pair, blocks=10)
    assert found[0].admitted == (0, 1)  # 5 + 5 blocks; the answers would need 8 more
    found = steps([Request(80, 60), Request(81, 60)], blocks=10, max_num_batched_tokens=96)
    assert found[0].admitted == (0,)  # one more token: 6 blocks, though this step would take 1


def test_the_last_admitted_goes_first_and_starts_again_with_what_it_wrote():
    found = steps([Request(64, 20), Request(64, 20)], blocks=9)
    assert found[0].admitted == (0, 1)  # 4 + 4 blocks of 9
    lost = next(number for number, one in enumerate(found) if one.preempted)
    assert found[lost].preempted == (1,)
    assert found[lost].used_blocks == 5
    assert (found[lost].running, found[lost].waiting) == (1, 1)
    back = next(number for number, one in enumerate(found) if number and one.admitted)
    assert found[back].admitted == (1,)
    assert found[back].tokens == 64 + lost  # its prompt and one token for each step it had


def test_nothing_is_admitted_in_a_step_that_preempts():
    third = [Request(64, 20), Request(64, 20), Request(1, 1)]
    found = steps(third, (0, 0, 1), blocks=9, max_num_seqs=2)
    lost = next(one for one in found if one.preempted)
    assert lost.admitted == ()


def test_the_watermark_counts_only_while_something_runs():
    alone = steps([Request(160, 1)], blocks=10, watermark=5)
    assert alone[0].admitted == (0,)
    both = steps([Request(80, 2), Request(80, 2)], blocks=14, watermark=5)
    assert both[0].admitted == (0,)  # 5 of 14 blocks taken; 5 more and 5 spare are too many


def test_places_are_limited():
    found = steps([Request(1, 2)] * 5, blocks=100, max_num_seqs=2)
    assert [one.running for one in found] == [2, 2, 2, 2, 1, 1]


def test_what_never_fits_is_refused():
    with pytest.raises(ValueError, match="request 1, 200 tokens, needs more than the 10 blocks"):
        next(simulate([Request(1, 1), Request(100, 100)], Server(10)))
    with pytest.raises(ValueError, match="rising order"):
        next(simulate([Request(1, 1)] * 2, Server(10), [3, 1]))


def test_no_token_and_no_block_is_lost():
    requests = [Request(prompt=17 * n % 90 + 1, output=31 * n % 50 + 1) for n in range(60)]
    found = steps(requests, blocks=20, max_num_seqs=8, max_num_batched_tokens=64)
    assert sum(len(one.preempted) for one in found) > 5
    done = [index for one in found for index in one.finished]
    assert sorted(done) == list(range(60))
    read = sum(one.prompt + one.output - 1 for one in requests)
    assert sum(one.tokens for one in found) > read  # what was preempted was read twice
    assert max(one.used_blocks for one in found) == 20
