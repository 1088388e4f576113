"""What engines print about their cache: ``reading.py`` takes a log in and gives its numbers.

``vllm.py``, ``sglang.py``, ``llama_cpp.py`` and so on are the phrases, as data; ``phrase.py`` says
how one reads, ``lines.py`` finds them, ``settings.py`` and ``runs.py`` put them together.
"""
