"""The formula as two pages write it, evaluated as written and held against the package."""

import re
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from kvdocs.formula.dtypes import element_bytes

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["kv-cache.md", "cheat-sheet.md"]
MODELS = ["Qwen/Qwen2.5-7B-Instruct", "mistralai/Mistral-Nemo-Instruct-2407", "Qwen/Qwen3-8B"]


def block(page: str) -> str:
    """The code block of the page that shows the formula."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return next(part for part in text.split("```") if re.match(r"text\nbytes per token +=", part))


def factors(page: str) -> list[str]:
    written = block(page).split("\n\n")[0]
    return re.findall(r"[=×] +(\w+)", written)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "fp8_e4m3"])
def test_the_formula_gives_what_the_package_gives(page, model_id, dtype):
    model = snapshot.load(model_id)
    config = dict(model.config) | {"dtype_bytes": element_bytes(dtype)}
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    product = 1
    for factor in factors(page):
        product *= int(factor) if factor.isdecimal() else config[factor]
    assert product == model.layout.slope(dtype=dtype)


@pytest.mark.parametrize("page", PAGES)
def test_the_widths_beside_it_are_the_packages(page):
    said = re.search(r"(\d) for float16 and bfloat16, (\d) for fp8", block(page))
    assert [int(width) for width in said.groups()] == [
        element_bytes("bfloat16"),
        element_bytes("fp8_e4m3"),
    ]
