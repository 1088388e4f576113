"""Fixtures of the evidence tests: warnings of the libraries are theirs, not findings here."""

import logging
import warnings

import pytest


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("transformers").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
