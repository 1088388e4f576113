"""vLLM 0.33.0: ``hold.py`` is the way in, ``pool.py`` how its planner holds a layout.

``layers.py``, ``compressed.py`` and ``states.py`` say what a layer takes on a rank, ``dtypes.py``
and ``auto.py`` in which formats, ``kernels.py`` where a format is refused, ``groups.py`` which
layers share blocks, ``memory.py`` what vLLM takes of the card beside the cache.
"""

VERSION = "0.33.0"  # the release that all of this describes
