"""The named reasons why a printed number is not the formula's."""

from kvdocs.explain.reasons import REASONS
from kvdocs.explain.remarks import REMARKS
from kvdocs.site.tables_field import reasons_markdown

print(reasons_markdown([*REASONS, *REMARKS]))
