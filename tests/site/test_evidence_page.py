"""What the page Evidence makes of the records, and what it says where there is none."""

import copy

from kvdocs.evidence.known import caches
from kvdocs.evidence.transformers.weights import FEWER_BITS, MORE, NOT_ITEMISED
from kvdocs.site import evidence


def rows(table: str) -> dict[str, list[str]]:
    """A Markdown table's cells by the first of each row."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in cells[2:]}


def test_every_measured_model_has_a_row_of_exact_bytes():
    found = rows(evidence.caches(caches()))
    assert len(found) == len(caches()["models"])
    # Published figures: 57,344 and 70,272 bytes a token.
    qwen, deepseek = found["Qwen/Qwen2.5-7B-Instruct"], found["deepseek-ai/DeepSeek-V3"]
    assert qwen[:4] == ["`qwen2`", "28", "3,670,016", "234,881,024"]
    assert deepseek[:4] == ["`deepseek_v3`", "61", "4,497,408", "287,834,112"]
    assert {row[-1] for row in found.values()} == {"0"}


def test_a_measurement_that_is_not_equal_is_not_hidden():
    record = copy.deepcopy(caches())
    record["models"][0]["lengths"][0] |= {"formula": 1}
    first = record["models"][0]
    off = first["lengths"][0]["held"] - 1
    assert rows(evidence.caches(record))[first["id"]][-1].startswith(f"{off:,}, and not every")
    count = 3 * len(record["models"])
    said = f"{count - 1} of {count} measurements of {len(record['models'])} models"
    assert evidence.caches_summary(record).startswith(said)


def test_every_difference_of_weights_has_its_reason():
    found = rows(evidence.weights(caches()))
    different = {model for model, row in found.items() if row[-1] != "equal"}
    assert different == {*MORE, *FEWER_BITS, *NOT_ITEMISED}
    assert "not explained" not in {row[-1] for row in found.values()}
    assert found["meta-llama/Llama-2-7b-hf"][2] == "+8,192"


def test_what_is_said_of_the_weights_is_what_the_table_shows():
    record = caches()
    reasons = [row[-1] for row in rows(evidence.weights(record)).values()]
    unknown = [why for why in reasons if "not " in why or "figure is" in why]
    bits = [why for why in reasons if why.startswith(("8-bit", "4-bit"))]
    equal = reasons.count("equal")
    rest = len(reasons) - equal - len(bits) - len(unknown)
    assert evidence.weights_summary(record) == (
        f"Of {len(reasons)} models {equal} are equal. Of the others, in {rest} the reason accounts "
        f"for every byte, {len(bits)} are stored in fewer bits, and in {len(unknown)} the "
        "difference is not itemised, or not explained."
    )


def test_without_a_run_on_a_gpu_the_page_says_so_and_how_to_make_one():
    said = evidence.gpu(None)
    assert said.startswith("**No run on a GPU is on record.**")
    assert "`make test-gpu`" in said


def test_a_record_of_the_suite_becomes_the_table(tmp_path):
    import pytest

    from tests.installed import version

    version()
    torch = pytest.importorskip("torch")
    from tests.evidence.tiny import FAMILIES
    from tests.gpu import experiments, record

    name = "qwen2, no head_dim"
    cache = experiments.cache_against_allocator(FAMILIES[name][0], name, "cpu", 30, 3)
    figures = {
        "caches": [cache],
        "peak": [experiments.peak_of_one_more_token("cpu", 3, 2, 16, 20)],
        "fp8": [experiments.half_in_fp8("cpu", 3, 2, 16, 20)],
    }
    said = evidence.gpu(record.machine() | {"gpu": "a card", "device": "cuda"} | figures)
    assert f"on a card, with transformers {record.versions()['transformers']}" in said
    assert f"torch {torch.__version__}" in said
    assert "`make test-gpu`" in said
    # 4 layers x 2 x 2 KV heads x 8 head_dim x 30 tokens x 2 bytes
    assert f"{name} | 4 | 30 | 7,680 | 7,680 | 7,680 | 0" in said
    assert "7,680 bytes in bfloat16 were 3,840 bytes in fp8" in said
