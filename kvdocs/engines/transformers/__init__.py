"""transformers: how its own caches hold a layout (``cache.py``), and what ``kvdocs fit`` asks."""
