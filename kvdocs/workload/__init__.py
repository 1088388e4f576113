"""``kvdocs workload``: a log of requests, its lengths, and how many sequences a pool has room for.

``command.py`` answers, ``request_log.py`` reads, ``lengths.py`` counts, ``estimates.py`` plans.
"""
