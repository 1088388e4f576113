"""Reasons that no factor tells: what can only be inferred, and what is worth knowing anyway.

In: their words, in ``reasons.toml``. Out: a name for each; ``reconcile`` gives them where they
apply. A remark on a number that agrees says what a reader would else take it for.
"""

from __future__ import annotations

from kvdocs.explain.reason import REASONS, Reason

OWN_FORMAT = REASONS["own_format"]
SHORT_CONVOLUTION = REASONS["short_convolution"]
LOWEST_RANK = REASONS["lowest_rank"]
SHARED_PAGES = REASONS["shared_pages"]
PERHAPS_SHARED = REASONS["shared_pages.perhaps"]
BY_GROUP = REASONS["tokens_by_group"]
BY_HAND = REASONS["blocks_by_hand"]
POOLS_APART = REASONS["pools_apart"]
WINDOWS_PARTLY = REASONS["windows_in_part"]
WINDOWS_FULL = REASONS["windows_as_full"]
GIB_CALLED_GB = REASONS["gib_called_gb"]
SLOTS = REASONS["slots"]
WHOLE_LATENT = REASONS["whole_latent"]


def reserved(engine: str) -> Reason:
    """That the pool is what is free, with one engine's flag: another's is no help."""
    other = REASONS["reserved_not_needed.other"]
    return REASONS.get(f"reserved_not_needed.{engine}", other)
