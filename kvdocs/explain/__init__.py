"""``kvdocs explain``: what the numbers of an engine's log mean, and whether they add up.

``command.py`` answers, ``reconcile.py`` compares, ``reasons.py`` and ``remarks.py`` say why a
number may differ, ``subject.py`` is the model that a log is compared with.
"""

from kvdocs.called import answers

answers(__name__, "kvdocs.explain.answer", "explain")
