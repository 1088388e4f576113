"""Every architecture of transformers, and whether the formula was equal to its cache."""

from kvdocs.site.coverage import coverage_html
from kvdocs.site.scope import scope

print(coverage_html(scope().records["sweep"]["architectures"]))
