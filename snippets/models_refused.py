"""The models of the snapshot that no rule describes yet, and the model_type that decides it."""

from kvdocs.site.scope import site_catalogue
from kvdocs.site.tables import computed_and_refused, markdown

_, refused = computed_and_refused(site_catalogue().models)
print(markdown(["Model", "model_type"], [[m.id, f"`{m.config['model_type']}`"] for m in refused]))
