"""Parameters times 2 bytes against the published size of the weights."""

from kvdocs.evidence.known import caches
from kvdocs.site import evidence

print(evidence.weights_summary(caches()))
print()
print(evidence.weights(caches()))
