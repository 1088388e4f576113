"""The formula and transformers: caches that are really allocated, class by class."""
