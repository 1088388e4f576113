"""llama.cpp: what a context takes (``context.py``), and what ``kvdocs fit`` asks of it."""
