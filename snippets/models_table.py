"""The table of all models whose cache the formula knows."""

from kvdocs.site.scope import site_catalogue
from kvdocs.site.tables import computed_and_refused, models_html

rows, _ = computed_and_refused(site_catalogue().models)
print(models_html(rows))
