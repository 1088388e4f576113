"""``python -m kvdocs`` is the command ``kvdocs``."""

from kvdocs.cli import main

raise SystemExit(main())
