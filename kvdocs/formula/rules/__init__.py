"""Rules: from an effective config to layers, one module per kind of cache.

A rule reads fields of ``fields.py`` and answers what each layer keeps. Most are put together from
two parts: which layer is of which type (``types.py``), and what a layer of a type keeps
(``keeps.py``, ``states.py``). Every other module ends with its table from model_type to rule. Every
row is held against the cache that transformers 5.24.0 allocates, in ``tests/evidence``.
"""
