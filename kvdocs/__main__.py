"""``python -m kvdocs`` is the command ``kvdocs``."""

from kvdocs.cli import command

raise SystemExit(command())
