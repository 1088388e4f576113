"""How vLLM 0.33.0 groups layers so that all draw blocks from one pool.

In: the pages of all layers. Out: groups. Source: v1/core/kv_cache_planning.py of the vLLM 0.33.0
wheel, ``get_kv_cache_groups`` (line 1116): ``group_layers`` for the layouts in which a layer's
blocks lie together (LBNHC, the default of the CUDA backends), ``pack_layers`` for those in which
the pages of a block lie side by side (BLHNC), which DeepSeek V4 asks for.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from kvdocs.engines.vllm import VERSION
from kvdocs.engines.vllm.layers import Options, Page
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

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

    def writing_blocks(self, tokens: int, options: Options) -> int:
        """The most blocks such a request holds of it while it writes its answer."""
        return max(
            page.writing_blocks(tokens, options) for page in {page for _, page in self.pages}
        )


def group_layers(pages: Sequence[Numbered]) -> tuple[Group, ...]:
    """The groups of a model's layers.

    Raises:
        ValueError: pages that vLLM cannot bring to one size.
    """
    if len({_type(page) for _, page in pages}) < 2:
        return (Group(tuple(pages)),) if pages else ()
    sized = one_page_size([page for _, page in pages])
    return _split([(layer, page) for (layer, _), page in zip(pages, sized, strict=True)])


def _type(page: Page) -> tuple[int, str, int | None]:
    """Equal for layers that always need the same number of blocks: these can be one group, each
    with its own page (…planning.py:1143-1151)."""
    return page.block_size, "grows" if page.grows else page.kind, page.window


def pack_layers(pages: Sequence[Numbered]) -> tuple[Group, ...]:
    """Groups of pages of several sizes, side by side in a block (…planning.py:851-1049).

    A bucket of one type is split only if each size occurs equally often in it, so that groups
    repeat a pattern of one page of each size, and only where some such pattern has several sizes.
    """
    buckets: dict[tuple[int, str, int | None], list[Numbered]] = {}
    for numbered in pages:
        buckets.setdefault(_type(numbered[1]), []).append(numbered)
    patterns = [_by_size(bucket) for bucket in buckets.values()]
    counts = [len(pattern[0]) for pattern in patterns if _balanced(pattern)]
    longest = max((len(p[0]) for p in patterns if _balanced(p) and len(p) > 1), default=0)
    repeats = _least_padding(counts, longest) if longest else 0
    groups = []
    for pattern in patterns:
        count = ceil_div(len(pattern[0]), repeats) if repeats and _balanced(pattern) else 1
        dealt = ([some for size in pattern for some in size[i::count]] for i in range(count))
        groups += [Group(tuple(some)) for some in dealt]
    return tuple(groups)


def _by_size(pages: Sequence[Numbered]) -> list[list[Numbered]]:
    sizes: dict[int, list[Numbered]] = {}
    for numbered in pages:
        sizes.setdefault(numbered[1].bytes, []).append(numbered)
    return list(sizes.values())


def _balanced(pattern: Sequence[Sequence[Numbered]]) -> bool:
    return len(set(map(len, pattern))) == 1


def _least_padding(counts: Sequence[int], least: int) -> int:
    """The number, ``least`` or more, of which all counts are multiples with the least filling up;
    the larger one of equals (…planning.py:814).

    >>> _least_padding([43, 21, 20], 21)
    22
    """
    numbers = range(least, max(counts) + 1)
    return min(numbers, key=lambda number: (sum(-count % number for count in counts), -number))


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
        raise ValueError(f"vLLM {VERSION} cannot pad a latent page of {page.bytes:,} bytes")
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
