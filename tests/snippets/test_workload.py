"""What the page on workloads says in words about its example, held against the example."""

import runpy
from pathlib import Path

import pytest

from kvdocs.site.example_workload import LIMIT, RISK, example
from kvdocs.workload.lengths import percentile
from kvdocs.workload.request_log import Request

SNIPPETS = Path(__file__).parents[2] / "snippets"


def test_the_example_is_the_same_everywhere():
    found = example()
    assert len(found.requests) == 10_000
    assert found.requests[:2] == (Request(581, 681), Request(723, 74))


def test_the_plans_are_far_apart_and_in_order():
    found = {plan.way: plan for plan in example().estimates}
    counts = [found[way].sequences for way in ("max_model_len", "longest", "p99", "most", "moment")]
    assert counts == sorted(counts)
    assert found["p99"].sequences > 4 * found["max_model_len"].sequences
    assert found["moment"].sequences > 3 * found["p99"].sequences
    assert found["moment"].overflow <= RISK
    assert percentile(example().workload.totals, 99) * 4 < LIMIT


@pytest.fixture(scope="module")
def rows():
    """The rows of the table of preemptions, as the page shows them."""
    return runpy.run_path(str(SNIPPETS / "workload_preemptions.py"))["rows"]


def number(text):
    return float(str(text).replace(",", "").rstrip("%"))


def test_p99_takes_more_than_three_times_as_many_steps(rows):
    p99, log, mean, twice = rows
    assert number(p99[2]) > 3 * number(log[2])
    assert number(log[2]) > number(mean[2]) > number(twice[2])


def test_a_free_place_stands_without_blocks_about_as_often_as_was_promised(rows):
    promised = 100 * float(example().estimate("moment").overflow)
    assert number(rows[1][3]) == pytest.approx(promised, abs=0.3)


def test_planning_at_the_mean_throws_work_away_and_planning_from_the_log_does_not(rows):
    assert [number(row[4]) for row in rows[:2]] == [0, 0]
    assert number(rows[2][4]) > 100
    assert number(rows[2][5]) > 4


def test_the_command_prints_the_same_numbers_as_the_table(capsys):
    runpy.run_path(str(SNIPPETS / "workload_command.py"))
    shown = capsys.readouterr().out
    for plan in example().estimates:
        assert f"{plan.sequences:>8,}  outgrow" in shown
    assert max(map(len, shown.splitlines())) <= 92
