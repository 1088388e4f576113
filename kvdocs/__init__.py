"""kvdocs: how much memory a language model's KV cache takes, exactly, from its published config.

The floors, lowest first (a floor imports only the ones below it):

    units -> formula -> facts -> serving -> evidence -> site -> cli
"""

__version__ = "0.1.0"
