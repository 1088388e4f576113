"""The record of llama.cpp: of the cases in the code."""

from kvdocs.engines.llama_cpp.context import Context
from kvdocs.evidence.known import recorded
from kvdocs.evidence.llama_cpp.contexts import cases


def test_the_record_is_of_the_cases_in_the_code():
    ran = [(case["model"], Context(**case["context"])) for case in recorded("llama_cpp")["cases"]]
    assert ran == [(model.id, context) for model, context in cases()]
