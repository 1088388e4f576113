"""Shared by all tests, and by the processes they start: one source of configs, one thread.

The tensors here are small or have no content, and torch's threads wait for one another by spinning:
with one thread a small model's decoding takes a tenth of the time and more where cores are shared.
"""

import os

os.environ["KVDOCS_HUB"] = "snapshot"
os.environ["OMP_NUM_THREADS"] = "1"

# Folders whose files take longest. Workers that take these files first finish together.
LONG = ("web", "evidence", "site", "snippets", "notebooks")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.parent.name not in LONG)
