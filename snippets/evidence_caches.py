"""Every model's cache as transformers allocated it, beside the formula."""

from kvdocs.evidence.known import caches
from kvdocs.site import evidence

record = caches()
print(evidence.caches_summary(record))
print(evidence.made(record, "python -m kvdocs.evidence.transformers.records check"))
print()
print(evidence.caches(record))
