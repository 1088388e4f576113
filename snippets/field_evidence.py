"""Public reports of what engines printed, each held against the formula, as one table."""

from kvdocs.facts.reports import load_reports
from kvdocs.site.tables_field import field_html

print(field_html(load_reports().values()))
