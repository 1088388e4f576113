"""How vLLM 0.33.0 groups layers so that all draw blocks from one pool.

In: the pages of all layers. Out: groups. Source: v1/core/kv_cache_planning.py of the vLLM 0.33.0
wheel, ``get_kv_cache_groups`` (line 1116) for the layouts in which a layer's blocks lie together
(LBNHC, the default of the CUDA backends).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from kvdocs.serving.vllm_layers import Options, Page, ceil_div

Numbered = tuple[int, Page]  # a page, and the number of the layer it is of


@dataclass(frozen=True)
class Group:
    """Layers that share one block table: the page of each, with the layer's number."""

    pages: tuple[Numbered, ...]

    def bytes(self, stage: Container[int]) -> int:
        """Bytes of one block for the group's layers that this pipeline stage holds."""
        return sum(page.bytes for layer, page in self.pages if layer in stage)

    def request_blocks(self, tokens: int, options: Options) -> int:
        """The most blocks a request of ``tokens`` tokens holds of this group."""
        return max(
            page.request_blocks(tokens, options) for page in {page for _, page in self.pages}
        )


def group_layers(pages: Sequence[Numbered]) -> tuple[Group, ...]:
    """The groups of a model's layers.

    Raises:
        ValueError: pages that vLLM cannot bring to one size.
    """
    if _one_type([page for _, page in pages]):
        return (Group(tuple(pages)),)
    sized = one_page_size([page for _, page in pages])
    return _split([(layer, page) for (layer, _), page in zip(pages, sized, strict=True)])


def _one_type(pages: Sequence[Page]) -> bool:
    """Whether all layers always need the same number of blocks: then they are one group, each
    with its own page (…planning.py:1143-1151)."""
    if len({page.block_size for page in pages}) > 1:
        return False
    kinds = {("grows" if page.grows else page.kind, page.window) for page in pages}
    return len(kinds) == 1


def one_page_size(pages: Sequence[Page]) -> list[Page]:
    """Pages of one size: a smaller page takes more tokens, or is padded where its size does not
    divide the largest (…planning.py:346).

    Raises:
        ValueError: a latent page would have to be padded.
    """
    largest = max(page.bytes for page in pages)
    return [_enlarged(page, largest) for page in pages]


def _enlarged(page: Page, largest: int) -> Page:
    if largest % page.bytes == 0:
        return replace(page, block_size=page.block_size * (largest // page.bytes), bytes=largest)
    if page.kind == "latent":
        raise ValueError(f"vLLM 0.33.0 cannot pad a latent page of {page.bytes:,} bytes")
    return replace(page, bytes=largest)


def _split(pages: Sequence[Numbered]) -> tuple[Group, ...]:
    """Groups of equally many layers, one kind each (…planning.py:408-541).

    The number is that of the rarest kind, or that of the most frequent where it is less than one
    and a half times as many. Layers are dealt out in turn, so that pipeline stages get some of
    each group.
    """
    kinds: dict[Page, list[int]] = {}
    for layer, page in pages:
        kinds.setdefault(page, []).append(layer)
    fewest, most = min(map(len, kinds.values())), max(map(len, kinds.values()))
    size = most if most < 1.5 * fewest else fewest
    groups = []
    for page, layers in kinds.items():
        count = ceil_div(len(layers), size)
        dealt = (layers[i::count] for i in range(count))
        groups += [Group(tuple((layer, page) for layer in some)) for some in dealt]
    return tuple(groups)
