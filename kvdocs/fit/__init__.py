"""``kvdocs fit``: how many users fit on a GPU, term by term.

``command.py`` answers, ``options.py`` reads what was asked, ``table.py`` writes for people. A module
for each engine has what only that engine has, and is imported when that engine is asked for.
"""
