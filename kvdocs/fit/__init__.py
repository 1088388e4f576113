"""``kvdocs fit``: how many users fit on a GPU, term by term.

``command.py`` answers, ``options.py`` reads what was asked, ``table.py`` writes for people. What
only one engine has is in a module of its own, imported when that engine is asked for.
"""

from kvdocs.called import answers

answers(__name__, "kvdocs.fit.options", "ask")
