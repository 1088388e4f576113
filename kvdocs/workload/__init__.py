"""``kvdocs workload``: a log of requests, its lengths, and how many sequences a pool has room for.

``answer.py`` answers, ``options.py`` reads what was asked, ``request_log.py`` reads the log,
``lengths.py`` counts, ``estimates.py`` plans. ``kvdocs.workload(…)`` is ``workload`` of
``answer.py``.
"""

from kvdocs.called import answers

answers(__name__, "kvdocs.workload.answer", "workload")
