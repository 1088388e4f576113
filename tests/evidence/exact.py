"""The one assertion of the measurements: every layer equal, else a line for each that is not."""

from kvdocs.evidence.transformers.measure import Measurement


def assert_exact(found: Measurement) -> None:
    """Fail with the model, the layer and both figures wherever cache and formula differ."""
    if not found.equal:
        raise AssertionError("\n".join(found.differences()))
