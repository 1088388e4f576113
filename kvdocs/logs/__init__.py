"""What engines print about their cache: ``reading.py`` takes a log in and gives its numbers.

``phrases/`` holds the phrases, as data, and ``number.py`` declares the numbers that they yield;
``known.py`` loads them, ``phrase.py`` says how one reads, ``lines.py`` finds them. ``settings.py``
reads the settings in a line, ``start_up.py`` and ``runs.py`` put together what is of one start-up.
"""
