"""Every public report: reproduced to the last digit printed, or explained by a named reason.

Nothing here knows a report: what must come out stands beside it in reports.toml.
"""

import json

import pytest

from kvdocs.explain.replay import replay
from kvdocs.facts.reports import load_reports
from kvdocs.formula import ConfigError, layout_of, parse_config
from kvdocs.logs.number import Number
from kvdocs.site.tables_field import telling_check

REPORTS = load_reports()


def verdict(check):
    """As reports.toml writes it: ``agrees``, reason keys, or both."""
    words = ["agrees"] * check.agrees + [reason.key for reason in check.reasons]
    return " + ".join(words) or "CONTRADICTS"


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_what_was_printed_is_reproduced_or_explained(report):
    found = {}
    for check in replay(report).checks:
        found.setdefault(check.key, []).append(verdict(check))
    assert {key: ", ".join(verdicts) for key, verdicts in found.items()} == dict(report.expect)


@pytest.mark.parametrize(
    "report", [r for r in REPORTS.values() if r.printed or r.ratio], ids=lambda r: r.key
)
def test_what_is_shown_as_printed_is_what_divides_by_hand(report):
    check = telling_check(replay(report).checks)
    if report.printed:
        assert round(float(check.printed), 2) == report.printed
    if report.ratio:
        assert round(float(check.ratio), 4) == report.ratio


@pytest.mark.parametrize("report", [r for r in REPORTS.values() if r.formula], ids=lambda r: r.key)
def test_the_formula_gives_the_stated_bytes_per_token(report):
    held = replay(report).subject
    if held:
        assert held.rate() == report.formula
    if report.config and not report.refused:
        assert layout_of(parse_config(report.config, "config.json")).slope() == report.formula


@pytest.mark.parametrize("report", [r for r in REPORTS.values() if r.refused], ids=lambda r: r.key)
def test_a_config_without_an_answer_is_refused_by_name(report):
    with pytest.raises(ConfigError) as error:
        layout_of(parse_config(report.config, "config.json"))
    assert report.refused in str(error.value)


def test_the_quoted_figures_divide_as_the_reports_say():
    """Arithmetic from outside: figures that the threads themselves work out."""
    oss = replay(REPORTS["gpt_oss_120b"]).log
    memory, tokens = oss.readings[0].printed(Number.MEMORY), oss.readings[1].printed(Number.TOKENS)
    assert memory.low / tokens.value <= 73_728 <= memory.high / tokens.value
    trt = replay(REPORTS["llama_2_7b_trtllm"]).log
    assert (
        trt.readings[0].printed(Number.MEMORY).value
        == 524_288 * trt.readings[1].printed(Number.TOKENS).value
    )


def test_every_kind_of_evidence_is_named_and_every_source_can_be_opened():
    for report in REPORTS.values():
        assert report.source.startswith("https://")
        assert report.lesson.endswith((".", ")"))
    assert {report.evidence for report in REPORTS.values()} == {
        "independent",
        "same thread",
        "fitted",
        "identity",
        "claim",
    }


def test_a_config_with_a_bare_infinity_is_read():
    config = parse_config(REPORTS["nemotron_nano_infinity"].config, "config.json")
    assert json.dumps(config["time_step_limit"]) == "[0.0, Infinity]"
