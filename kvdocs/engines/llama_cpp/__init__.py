"""llama.cpp: ``hold.py`` is the way in, ``context.py`` says what a context takes."""
