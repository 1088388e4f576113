"""The record of a run on a GPU, or that there is none."""

from kvdocs.site import evidence
from kvdocs.site.scope import scope

print(evidence.gpu(scope().records.get("gpu")))
