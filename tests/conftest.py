"""Shared by all tests, and by the processes they start: one source of configs, one thread.

The tensors here are small or have no content, and torch's threads wait for one another by spinning:
with one thread a small model's decoding takes a tenth of the time and more where cores are shared.
"""

import os

os.environ["KVDOCS_HUB"] = "snapshot"
os.environ["OMP_NUM_THREADS"] = "1"
