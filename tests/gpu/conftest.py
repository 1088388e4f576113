"""The CUDA suite: skipped with a reason where there is no GPU, and recorded where there is one."""

import pytest

FIGURES: dict[str, list] = {}


def missing() -> str | None:
    """Why the CUDA tests cannot run here, if they cannot."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    if not torch.cuda.is_available():
        return f"no CUDA GPU here: torch {torch.__version__} finds none"
    return None


def pytest_collection_modifyitems(items):
    reason = missing()
    for item in items:
        if reason and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def record(request):
    """Keep a figure under an experiment's name, for the record of a run on a GPU."""

    def keep(name: str, figures: dict) -> None:
        if request.node.get_closest_marker("gpu"):
            FIGURES.setdefault(name, []).append(figures)

    return keep


def pytest_sessionfinish(session, exitstatus):
    if FIGURES and exitstatus == 0:
        from tests.gpu.record import write

        write(FIGURES)
