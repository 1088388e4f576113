"""vLLM 0.33.0: how its planner holds a layout (``pool.py``), and what ``kvdocs fit`` asks of it.

``layers.py``, ``compressed.py`` and ``states.py`` say what a layer takes on a rank, ``dtypes.py``
in which formats, ``kernels.py`` where a format is refused, ``groups.py`` which layers share blocks.
"""
