"""The formula: a published config goes in, the bytes its cache takes come out.

Standard library, ``kvdocs.units`` and ``kvdocs.startup`` only, so the same code can run anywhere
Python runs.
"""

from kvdocs.formula.architectures import layout_of
from kvdocs.formula.config_file import parse_config
from kvdocs.formula.dtypes import dtype_name
from kvdocs.formula.errors import ConfigError
from kvdocs.formula.layout import CacheLayout, crossover

__all__ = ["CacheLayout", "ConfigError", "crossover", "dtype_name", "layout_of", "parse_config"]
