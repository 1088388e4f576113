"""Every model's cache as transformers allocated it, beside the formula."""

from kvdocs.evidence.known import caches
from kvdocs.site import evidence

record = caches()
print(evidence.caches_summary(record))
print(evidence.made(record, "kvdocs evidence check caches"))
print()
print(evidence.caches(record))
