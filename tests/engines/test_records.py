"""Every record of an engine, measured again: `make test-engines`."""

import pytest

from kvdocs.evidence.record import RECORDS

ENGINES = [record for record in RECORDS.values() if record.needs.run.startswith(".venv-engines")]


@pytest.mark.engine
@pytest.mark.parametrize("record", ENGINES, ids=lambda record: record.name)
def test_the_record_is_what_the_engine_does_now(record):
    if reason := record.needs.missing():
        pytest.skip(reason)
    assert record.changes() == []
