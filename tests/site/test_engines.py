"""Engines in stated numbers: values that the engines' records hold, and what is refused."""

import pytest

from kvdocs.evidence.known import recorded
from kvdocs.site.expressions import evaluate
from kvdocs.site.scope import scope

MIB = 2**20


def value(expression):
    return evaluate(expression, scope()).value


def test_llama_cpp_takes_what_its_log_says():
    [case] = [
        case
        for case in recorded("llama_cpp")["cases"]
        if case["model"].startswith("Qwen/Qwen2.5-7B") and case["context"]["n_ctx"] == 4000
    ]
    assert "size =  224.00 MiB" in case["log"][-1]
    assert value("llama_cpp_context(qwen2_5_7b, 4000)") == 224 * MIB


def test_the_way_to_the_bytes_and_the_engine_are_told():
    answer = evaluate("llama_cpp_context(gpt_oss_20b, 8192)", scope())
    assert answer.how == (
        "gpt-oss-20b, n_ctx 8,192:",
        "12 layers × 8,192 cells (every): 201,326,592 bytes",
        "12 layers × 768 cells (window): 18,874,368 bytes",
        "201,326,592 + 18,874,368 = 220,200,960 bytes",
    )
    assert answer.sources[-1] == "llama.cpp 0c1e570 (llama-cpp-python 0.3.36)"


def test_a_request_of_vllm_holds_whole_blocks():
    assert value("vllm_request(qwen2_5_7b, 17)") == 2 * 917_504


def test_transformers_shows_one_token_less_than_the_window_and_stores_the_prompt():
    token = value("mistral_7b_v0_1.slope()")
    assert value("transformers_shown(mistral_7b_v0_1, 5000)") == 4095 * token
    assert value("transformers_stored(mistral_7b_v0_1, 5000)") == 5000 * token
    assert value("transformers_expanded(deepseek_v3, 1)") == 4_997_120


def test_a_second_copy_is_of_one_tensor():
    """Of 56 tensors 55 have grown by 1,024 bytes, and the last is there twice."""
    assert value("transformers_growth(qwen2_5_7b, 4096)") == 55 * 1024 + 4097 * 1024


@pytest.mark.parametrize(
    "expression",
    [
        "llama_cpp_context(qwen2_5_7b)",
        "llama_cpp_context(4096, qwen2_5_7b)",
        "llama_cpp_context(qwen2_5_7b, 0)",
        "llama_cpp_context(deepseek_v4_flash, 4096)",
        "vllm_request(qwen2_5_7b, 0)",
        "transformers_growth(qwen3_5_27b, 4096)",
    ],
)
def test_what_has_no_answer_is_an_error_not_a_number(expression):
    with pytest.raises(ValueError, match=r"."):
        value(expression)
