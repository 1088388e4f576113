"""transformers: ``hold.py`` is the way in, ``cache.py`` how its own caches hold a layout."""
