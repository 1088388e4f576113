"""The record of llama.cpp: of the cases in the code, and how it is made again."""

import pytest

from kvdocs.engines.llama_cpp.context import Context
from kvdocs.evidence.llama_cpp import contexts as llama_cpp
from kvdocs.evidence.llama_cpp.library import missing


def test_the_record_is_of_the_cases_in_the_code():
    ran = [(case["model"], Context(**case["context"])) for case in llama_cpp.record()["cases"]]
    assert ran == [(model.id, context) for model, context in llama_cpp.cases()]


def test_without_llama_cpp_the_error_says_what_to_install():
    if not missing():
        pytest.skip("llama.cpp is installed")
    with pytest.raises(RuntimeError, match=r"needs llama\.cpp as in xllamacpp"):
        llama_cpp.measured()


def test_a_misspelt_command_is_bad_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["llama_cpp", "chekc"])
    assert llama_cpp.main() == 2
    assert "check|update" in capsys.readouterr().err
