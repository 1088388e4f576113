"""Stated numbers: one case a number, and every changed digit is caught with file, line, column."""

import re
from fractions import Fraction
from pathlib import Path

import markdown
import pytest

from kvdocs.evidence import known
from kvdocs.facts.claims import claim
from kvdocs.facts.gpus import load_gpus
from kvdocs.facts.snapshot import load
from kvdocs.site import numbers
from kvdocs.site.example_workload import example
from kvdocs.site.expressions import evaluate
from kvdocs.site.model_values import model_names
from kvdocs.site.pages import fences, pages, place_of, prose
from kvdocs.site.popover import exact_value, render
from kvdocs.site.scope import forget, scope
from kvdocs.site.values import Scope

ROOT = Path(__file__).parents[2]
DOCS = pages([ROOT / "docs"])
STATED = [stated for path in DOCS for stated in numbers.find(path)]
QWEN = Scope(
    model_names([load("Qwen/Qwen2.5-7B-Instruct"), load("openai/gpt-oss-20b")]), gpus=load_gpus()
)


def _place(stated):
    return f"{stated.path.name}:{stated.line}:{stated.text}"


@pytest.mark.parametrize("stated", STATED, ids=_place)
def test_the_number_is_what_its_expression_gives(stated):
    assert numbers.check(stated, scope()).problem is None


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_no_number_stands_alone_and_every_block_runs(path):
    assert [str(problem) for problem in numbers.check_page(path, scope())] == []


@pytest.mark.parametrize(
    "stated",
    [s for s in STATED if any(map(str.isdigit, s.text))],
    ids=_place,
)
def test_any_changed_digit_is_caught(stated):
    for position, digit in enumerate(stated.text):
        if digit.isdigit():
            other = str((int(digit) + 1) % 10)
            wrong = stated.text[:position] + other + stated.text[position + 1 :]
            changed = numbers.Stated(stated.path, wrong, stated.kind, stated.expression)
            assert numbers.check(changed, scope()).problem, wrong


def _page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wrong_number_is_named_with_file_line_and_what_it_should_say(tmp_path):
    path = _page(tmp_path, '# A page\n\nA token costs [55 KiB](kv: "qwen2_5_7b.slope()").\n')
    [problem] = numbers.check_page(path, QWEN)
    assert str(problem) == (f'{path}:3:15: says "55 KiB", but qwen2_5_7b.slope() gives "56 KiB"')


def test_fix_rewrites_the_number_and_nothing_else(tmp_path):
    text = (
        'One [12 KiB](kv: "qwen2_5_7b.slope()"), two [1.0 GB](kv: "50 * qwen2_5_7b.bytes(4096)"), '
        'three [56 KiB](kv: "qwen2_5_7b.slope()"), `[1](kv: "no")`.\n'
    )
    path = _page(tmp_path, text)
    assert len(numbers.fix(path, QWEN)) == 2
    fixed = text.replace("[12 KiB]", "[56 KiB]").replace("[1.0 GB]", "[11.7 GB]")
    assert path.read_text(encoding="utf-8") == fixed
    assert numbers.check_page(path, QWEN) == []


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ('[81%](judgement: "80%: our rule of thumb")', 'says "81%", but 80%: our rule'),
        ('[80%](judgement: "80%: because")', "gives its reason in words"),
        ('[80%](judgement: "our rule of thumb for this")', "gives its reason in words"),
        (
            '[67](withdrawn: "67: an article\'s figure")',
            "on corrections.md and nowhere else",
        ),
    ],
)
def test_a_number_in_words_repeats_itself_and_says_why(tmp_path, link, message):
    [problem] = numbers.check_page(_page(tmp_path, f"About {link}.\n"), QWEN)
    assert message in problem.what


def test_a_changed_snapshot_names_every_number_that_depends_on_it(tmp_path):
    path = _page(
        tmp_path,
        'A [56 KiB](kv: "qwen2_5_7b.slope()")\n'
        'B [48 KiB](kv: "gpt_oss_20b.slope()")\n'
        'C [224 MiB](kv: "qwen2_5_7b.bytes(4096)")\n',
    )
    from dataclasses import replace

    qwen = load("Qwen/Qwen2.5-7B-Instruct")
    changed = replace(qwen, config=dict(qwen.config) | {"num_hidden_layers": 29})
    broken = Scope(model_names([changed, load("openai/gpt-oss-20b")]))
    assert [problem.line for problem in numbers.check_page(path, broken)] == [1, 3]


@pytest.mark.parametrize(
    "text",
    [
        "It takes 7 GiB.",
        "It takes 7GiB.",
        "It takes 7\N{NO-BREAK SPACE}GiB.",
        "About ~80% of it.",
        "A 4,096-token chat.",
        "The 8× ratio.",
        "Some 128k context.",
        "We saw 65 of them.",
        "| a | 12 |\n|---|---|\n| b | 13 |",
        "> quoted 3.5 times",
        "<div>7 GiB</div>",
        "Sizes like `7 GiB` too.",
        "```text\nneeds 7.0 GiB KV cache\n```",
        "A [link with 7 GiB](models.md).",
        "## Heading 5",
        "80–90%",
        "It takes _7 GiB_ and __9__ more.",
        "Two/7 GiB, or -7 GiB, or up-to-7 GiB.",
        "The Qwen 70 GiB cache.",
        "Some 56KB, or 7gb.",
        "Within 10ms for 50users.",
        "[Note]: this takes 7 GiB",
        '[text](models.md "needs 7 GiB")',
        '<img alt="needs 7 GiB">',
        'Text { .c title="7 GiB" }',
        "About 7² GiB, ½ GiB or .7 GiB.",
        "In all 1e9 bytes.",
        "It takes &#55; of them.",
        "Code with `7KB` in it.",
    ],
)
def test_a_bare_number_is_an_error(tmp_path, text):
    path = _page(tmp_path, f"# Page\n\n{text}\n")
    problems = numbers.check_page(path, QWEN)
    assert problems, text
    assert all("stands alone" in problem.what for problem in problems)
    assert all(3 <= problem.line <= 5 for problem in problems)


@pytest.mark.parametrize(
    "text",
    [
        "Qwen2.5-7B-Instruct, gpt-oss-20b, Llama-3.1-8B, FP8, K2 and A100.",
        "An 8-bit cache; a 7B model; the RTX 4090; Python 3.11.",
        "On 2026-11-29.",
        "1. first\n2. second",
        "Code: `2 × 28 × 4` and `--max-model-len 4096`.",
        "```python\nx = 4096 * 50\n```",
        "<https://arxiv.org/abs/2305.13245>",
        "[a paper](https://arxiv.org/abs/2305.13245)",
        "Text { .class-3 }",
        '<span data-x="3">three</span>',
        "&#8212;",
    ],
)
def test_names_dates_code_and_addresses_are_no_bare_numbers(tmp_path, text):
    assert numbers.check_page(_page(tmp_path, f"# Page\n\n{text}\n"), QWEN) == []


@pytest.mark.parametrize(
    "link",
    [
        '[56 KiB](kv:"qwen2_5_7b.slope()")',
        "[56 KiB](kv: 'qwen2_5_7b.slope()')",
        "[56 KiB](kv: qwen2_5_7b.slope())",
    ],
)
def test_a_link_that_is_almost_a_stated_number_is_an_error(tmp_path, link):
    problems = numbers.check_page(_page(tmp_path, link + "\n"), QWEN)
    assert any("is not of the form" in problem.what for problem in problems)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("qwen9.slope()", "no model is called 'qwen9'"),
        ("qwen2_5_7b", "names a model"),
        ("qwen2_5_7b.slope(", "is not an expression"),
        ("__import__('os').system('true')", "not a function"),
        ("qwen2_5_7b.__class__", "no whole number"),
        ("qwen2_5_7b.source.kind", "no whole number"),
        ("(lambda: 1)()", "not a function"),
        ("[1][0]", "not allowed"),
        ("2 ** 99999999", "not allowed"),
        ("'a' * 3", "not allowed"),
        ("1 / 0", "divides by zero"),
        ("qwen2_5_7b.bytes(1.5)", "whole number of tokens"),
        ("qwen2_5_7b.bytes(0 - 5)", "whole number of tokens"),
        ("qwen2_5_7b.bytes(10, dtype=q8_0)", "unknown cache dtype"),
        ("qwen2_5_7b.bytes(10, device='cuda')", "unknown argument"),
        ("qwen2_5_7b.rope_theta", "no whole number"),
        ("crossover(qwen2_5_7b)", "wants a model and a length"),
        ("gpu.abacus", "no GPU"),
        ("cited.vllm.nothing", "no claim"),
        ("measured.nothing.at.all", "no record"),
        ("(" * 500 + "1" + ")" * 500, "is not an expression"),
        ("+".join(["1"] * 600), "too long an expression"),
        ("crossover(qwen2_5_7b, 4096.9)", "no whole number of tokens"),
        ("qwen2_5_7b.without_sharing(7)", "not something a model answers"),
        ("cited.gpus.rtx_4090.__module__", "gpus.toml has no"),
        ("cited.gpus.rtx_4090.__doc__", "gpus.toml has no"),
        ("qwen2_5_7b.layers(window)", "has no layers of kind 'window'; it has full"),
        ("qwen2_5_7b.layers()", "wants one kind of layer"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        evaluate(expression, QWEN)


@pytest.mark.parametrize(
    ("text", "expression", "says"),
    [
        ("57,344 conversations", "qwen2_5_7b.slope()", "counts bytes"),
        ("57,344", "2 * qwen2_5_7b.slope()", "counts bytes"),
        ("7 KiB", "qwen2_5_7b.bytes(7) / qwen2_5_7b.slope()", "does not count bytes"),
        ("65 GB", "crossover(qwen2_5_7b, 4096)", "does not count bytes"),
        ("1 GiB", "qwen2_5_7b.weights + 7", "adds bytes and a plain number"),
        ("0 GiB", "qwen2_5_7b.bytes(4096)", "too coarse"),
    ],
)
def test_a_unit_of_another_kind_or_no_digit_at_all_is_an_error(tmp_path, text, expression, says):
    [problem] = numbers.check_page(_page(tmp_path, f'A [{text}](kv: "{expression}").\n'), QWEN)
    assert says in problem.what


@pytest.mark.parametrize(
    ("text", "expression", "shown"),
    [
        ("56 KiB", "qwen2_5_7b.slope()", "57,344 bytes"),
        ("23.7 GB", "0.92 * gpu.rtx_4090", "23,696,643,194.88 bytes"),
        ("64.85", "qwen2_5_7b.weights / qwen2_5_7b.bytes(4096)", "≈ 64.846588"),
        ("65", "crossover(qwen2_5_7b, 4096)", "65"),
    ],
)
def test_the_exact_value_has_every_digit_or_says_that_it_has_not(text, expression, shown):
    checked = numbers.check(numbers.Stated(Path("p.md"), text, "kv", expression), QWEN)
    assert exact_value(checked) == shown


def test_an_answer_shows_formula_values_and_source():
    answer = evaluate("50 * qwen2_5_7b.bytes(4096)", QWEN)
    assert answer.value == 11_744_051_200
    assert answer.how == (
        "Qwen2.5-7B-Instruct, 4,096 tokens:",
        "2 (K and V) × 28 layers × 4 KV heads × 128 head_dim × 4,096 tokens × 2 bytes"
        " = 234,881,024 bytes",
        "50 × 234,881,024 = 11,744,051,200",
    )
    assert answer.sources == ("config.json of Qwen/Qwen2.5-7B-Instruct, snapshot of 2026-11-29",)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 - (2 - 3)", 2),
        ("2 * (3 + 4) / 7", 2),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("qwen2_5_7b.num_attention_heads / qwen2_5_7b.num_key_value_heads", 7),
        ("qwen2_5_7b.without_sharing().slope()", 401_408),
        ("qwen2_5_7b.slope(dtype=fp8)", 28_672),
        ("gpt_oss_20b.slope_past_windows()", 24_576),
        ("gpt_oss_20b.slope(127) - gpt_oss_20b.slope(128)", 24_576),
        ("crossover(qwen2_5_7b, 4096)", 65),
        ("floor(7 / 2) + ceil(7 / 2)", 7),
    ],
)
def test_values_are_exact(expression, value):
    assert evaluate(expression, QWEN).value == value


def test_what_grows_in_steps_costs_its_average_past_the_windows():
    """DeepSeek-V4-Flash: 21 layers add 640 elements in 4 tokens, 20 layers 512 in 128."""
    v4 = load("deepseek-ai/DeepSeek-V4-Flash")
    found = evaluate("deepseek_v4_flash.slope_past_windows()", Scope(model_names([v4])))
    assert found.value == v4.layout.slope_past_windows()
    assert found.value == 21 * 640 * 2 // 4 + 20 * 512 * 2 // 128
    assert found.how[-1].endswith("÷ 128 tokens = 6,880 bytes")


def test_a_server_that_builds_again_reads_records_and_claims_anew(tmp_path):
    path = tmp_path / "some.json"
    path.write_text('{"totals": 1}', encoding="utf-8")
    assert known.record(str(path)) == {"totals": 1}
    path.write_text('{"totals": 2}', encoding="utf-8")
    assert example().requests
    assert claim("vllm.block_size.default")
    forget()
    assert known.record(str(path)) == {"totals": 2}
    assert not example.cache_info().currsize
    assert not claim.cache_info().currsize


def test_a_short_name_that_two_models_share_is_nobodys():
    both = model_names([load("Qwen/Qwen2.5-0.5B"), load("Qwen/Qwen2.5-0.5B-Instruct")])
    assert both["qwen2_5_0_5b"].id == "Qwen/Qwen2.5-0.5B"
    assert both["qwen2_5_0_5b_instruct"].id == "Qwen/Qwen2.5-0.5B-Instruct"
    pair = model_names([load("tiiuae/falcon-7b-instruct"), load("Qwen/Qwen2.5-7B-Instruct")])
    assert {"falcon_7b", "qwen2_5_7b"} <= set(pair)


def test_prose_keeps_every_position():
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        assert len(prose(text)) == len(text)
        assert prose(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ('python exec="1"', "id"),
        ('python exec="true" id="a"', 'exec must be "1"'),
        ('python exec="1" id="a" sesion="x"', "unknown option 'sesion'"),
        ("python exec=1 id=a", "not of the form"),
        ('bash exec="1" id="a"', "not of the form"),
        ('python exec="1" id="a" html="yes"', 'html must be "1"'),
    ],
)
def test_a_block_that_would_silently_not_run_is_an_error(tmp_path, info, says):
    path = _page(tmp_path, f'```{info}\n--8<-- "models_table.py"\n```\n')
    problems = numbers.check_page(path, QWEN)
    assert any(says in problem.what for problem in problems)
    assert {problem.line for problem in problems} == {1}


def test_code_written_into_an_executed_block_is_an_error(tmp_path):
    path = _page(tmp_path, '```python exec="1" id="a"\nprint(7)\n```\n')
    assert "includes a file of snippets" in numbers.check_page(path, QWEN)[0].what


def test_fences_nest_and_keep_their_lines():
    text = "a\n````md\n```python\nx\n```\n````\n\n    ```python\n    y\n    ```\n"
    found = [(place_of(text, f.start), f.language) for f in fences(text)]
    assert found == [((2, 1), "md"), ((8, 1), "python")]


def test_a_quantity_in_the_front_matter_is_an_error(tmp_path):
    path = _page(tmp_path, "---\ndescription: It takes 7 GiB.\n---\n\n# Page\n")
    assert [problem.line for problem in numbers.check_page(path, QWEN)] == [2]


@pytest.mark.parametrize(
    "expression", ["floor((4849 - 1) / 256)", "2048 + 6 * 321", "ceil(32768 / 16)", "7"]
)
def test_an_expression_that_names_nothing_is_refused(tmp_path, expression):
    path = _page(tmp_path, f'It takes [18](kv: "{expression}") of them.\n')
    [problem] = numbers.check_page(path, QWEN)
    assert f'"18": {expression} names nothing: a page\'s number comes from a model' in problem.what
    assert (problem.line, problem.column) == (1, 10)


TWO = (
    '[10](illustration: "10: a short answer, chosen") and [990](illustration: "990: a long answer")'
)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f'{TWO}: [99%](arithmetic: "990 / (10 + 990)").', None),
        (f'{TWO}: [98%](arithmetic: "990 / (10 + 990)").', 'gives "99%"'),
        (f'{TWO}: [97%](arithmetic: "970 / (10 + 990)").', "970 is no illustration on this line"),
        ('[28](kv: "qwen2_5_7b.num_hidden_layers"), [14](arithmetic: "28 / 2").', "28 is no illus"),
        (f'{TWO}:\n[99%](arithmetic: "990 / (10 + 990)").', "990 is no illustration on this line"),
        (f'{TWO}: [99%](arithmetic: "990 / (10 +").', "is not an expression"),
        (f'{TWO}: [99%](arithmetic: "0.99 * 1").', "0.99 is no illustration on this line"),
        (f'{TWO}: [56 KiB](arithmetic: "qwen2_5_7b.slope()").', "so its kind is kv"),
    ],
)
def test_arithmetic_is_of_numbers_that_its_own_line_has_chosen(tmp_path, line, says):
    problems = [p.what for p in numbers.check_page(_page(tmp_path, line + "\n"), QWEN)]
    assert problems == [] if says is None else any(says in problem for problem in problems)


@pytest.mark.parametrize(
    ("text", "expression", "correct"),
    [
        ("seven times as many", "qwen2_5_7b.num_attention_heads / 4", None),
        ("Half of", "gpt_oss_20b.layers(window) / gpt_oss_20b.num_hidden_layers", None),
        ("twenty-eight", "qwen2_5_7b.num_hidden_layers", None),
        ("7 times as much", "qwen2_5_7b.num_attention_heads / 4", None),
        ("twice as many", "qwen2_5_7b.num_attention_heads / 4", "7 times as many"),
        ("Twice as many", "qwen2_5_7b.num_attention_heads / 4", "7 times as many"),
        ("a third of", "qwen2_5_7b.slope(dtype=fp8) / qwen2_5_7b.slope()", "50% of"),
        ("twice as long", "qwen2_5_7b.num_hidden_layers / 16", "1.75 times as long"),
        ("8 times as much", "qwen2_5_7b.num_attention_heads / 4", "7 times as much"),
    ],
)
def test_a_ratio_in_words_is_checked_and_fixed(tmp_path, text, expression, correct):
    path = _page(tmp_path, f'It takes [{text}](kv: "{expression}") of it.\n')
    wrong = numbers.fix(path, QWEN)
    assert [checked.correct for checked in wrong] == ([correct] if correct else [])
    assert numbers.check_page(path, QWEN) == []


@pytest.mark.parametrize(
    "words",
    [
        "It runs twice as fast.",
        "It takes half as much.",
        "It needs a third of it.",
        "It has four times as many users.",
        "Two thirds of them, and an eighth as long.",
        "> About thirty-two times as large.",
        "[See this, twice as long](models.md).",
    ],
)
def test_a_ratio_in_words_without_a_link_is_an_error(tmp_path, words):
    problems = numbers.check_page(_page(tmp_path, f"# Page\n\n{words}\n"), QWEN)
    assert problems
    assert all("stands alone" in problem.what for problem in problems)


@pytest.mark.parametrize(
    "words",
    [
        "You read it twice, and half a year later a third one comes.",
        "It is wrong half the time, and most of the times as planned.",
        "It is several times the average.",
    ],
)
def test_words_that_compare_nothing_are_no_numbers(tmp_path, words):
    assert numbers.check_page(_page(tmp_path, f"# Page\n\n{words}\n"), QWEN) == []


def test_a_quiet_number_is_checked_and_not_marked(tmp_path):
    text = 'A KiB has [1,024](kv: "4 * qwen2_5_7b.layers(full) * 64 / 7"){.quiet} bytes.\n'
    path = _page(tmp_path, text)
    [stated] = numbers.find(path)
    assert stated.quiet
    assert numbers.check_page(path, QWEN) == []
    path.write_text(text.replace("1,024", "1,023"), encoding="utf-8")
    assert 'gives "1,024"' in numbers.check_page(path, QWEN)[0].what
    html = markdown.markdown(text, extensions=["attr_list"])
    shown = render(html, lambda kind, text, expression: numbers.check(stated, QWEN))
    assert shown == '<p>A KiB has <span class="kv-quiet">1,024</span> bytes.</p>'


@pytest.mark.parametrize("mark", ["{.quite}", "{ .quiet }", "{.quiet .big}", "{#quiet}"])
def test_another_mark_after_a_number_is_an_error(tmp_path, mark):
    path = _page(tmp_path, f'A token costs [56 KiB](kv: "qwen2_5_7b.slope()"){mark}.\n')
    problems = [problem.what for problem in numbers.check_page(path, QWEN)]
    assert any("with {.quiet} after it or nothing" in problem for problem in problems)
