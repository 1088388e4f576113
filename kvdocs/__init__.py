"""kvdocs: how much memory a language model's KV cache takes, exactly, from its published config.

The floors; each imports only floors that come before it:

    units, formula, facts, logs, engines, fit | workload | explain, evidence, site, cli
"""

__version__ = "0.1.0"
