"""The coverage table: every architecture of the record has a row, with its reason."""

from kvdocs.site.coverage import coverage_html, how_run, remark, tokens_tried
from kvdocs.site.scope import scope

RECORD = scope().records["sweep"]
ENTRIES = RECORD["architectures"]


def test_no_architecture_is_left_out():
    html = coverage_html(ENTRIES)
    assert html.count("<tr>") == 1 + len(ENTRIES) == 1 + RECORD["totals"]["listed"]
    for entry in ENTRIES:
        assert f"<code>{entry['class']}</code>" in html


def test_only_lengths_that_were_equal_in_every_width_are_named():
    rows = [
        {"bits": 16, "tokens": 64, "equal": True},
        {"bits": 16, "tokens": 1000, "equal": True},
        {"bits": 32, "tokens": 1000, "equal": False},
    ]
    assert tokens_tried({"rows": rows}) == [64]
    assert tokens_tried({"reason": "could not run"}) == []


def test_a_row_says_how_it_was_run_and_what_was_changed():
    entry = {"rows": [{}], "device": "cpu", "assumed_values": False, "reason": ""}
    entry |= {"changed": {"n_layer": 3}, "why": "it reads <values>"}
    assert how_run(entry) == "CPU, small"
    assert remark(entry) == "<code>n_layer = 3</code><br>it reads &lt;values&gt;"
    assert how_run(entry | {"device": "meta"}) == "meta"
    assert how_run(entry | {"device": "meta", "assumed_values": True}) == "meta, values assumed"
    assert how_run({"rows": []}) == "–"


def test_a_reason_said_twice_is_shown_once():
    assert remark({"why": "a draft model", "reason": "a draft model"}) == "a draft model"
