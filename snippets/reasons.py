"""The named reasons why a printed number is not the formula's."""

from kvdocs.explain.reason import REASONS
from kvdocs.site.tables_field import reasons_markdown

print(reasons_markdown(one for key, one in REASONS.items() if key == one.key))
