"""llama.cpp run again, every context of the record: `make test-engines`."""

import pytest

from kvdocs.evidence.llama_cpp import contexts as llama_cpp
from kvdocs.evidence.llama_cpp.library import missing

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(bool(missing()), reason=missing() or "llama.cpp is here"),
]


def test_llama_cpp_still_logs_what_the_record_says():
    assert llama_cpp.check() == []
