"""Shared by all tests: the snapshot is the only source, and folders a test may write to."""

import os

os.environ["KVDOCS_HUB"] = "snapshot"
