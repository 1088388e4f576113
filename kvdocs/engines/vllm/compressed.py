"""What a layer of DeepSeek V4 takes on one rank of vLLM 0.33.0, page by page.

In: a layout with compressed layers and ``Options``. Out: ``Page``s with the number of their layer.
Nothing is shared among ranks: every rank holds all of it. Paths in docstrings are in the vLLM
0.33.0 wheel; the kernels are those of Hopper, Blackwell and newer cards unless one asks for others
with --attention-backend.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvdocs.engines.vllm import VERSION
from kvdocs.engines.vllm.layers import Options, Page
from kvdocs.formula import CacheLayout
from kvdocs.formula.compressed import Compressed
from kvdocs.formula.layers import Layer, SlidingWindow
from kvdocs.units import ceil_div

ROW = 584  # bytes: 448 numbers in FP8, 64 rotary in 16 bits, 8 scales (…attention.py:886)
HEAD_DIM = 512  # the only one the kernels take (models/deepseek_v4/sparse_mla.py:84)
ALIGN = 576  # bytes; every page is padded to a multiple (…attention.py:881)
BLOCK = 256  # tokens, the only block the kernels take (models/deepseek_v4/sparse_mla.py:64)
WINDOW_BLOCK = 64  # tokens (v1/attention/backends/mla/sparse_swa.py:86)
STATE_BLOCK = {4: 4, 128: 8}  # rate -> tokens (models/deepseek_v4/compressor.py:166)
FLOAT32 = 4
KERNELS = (  # the only layers that vLLM has kernels for (models/deepseek_v4/compressor.py:157-203)
    Compressed(rate=128, entry=HEAD_DIM, waiting=2 * HEAD_DIM),
    Compressed(rate=4, entry=HEAD_DIM + 128, waiting=4 * 640, overlap=4 * 640),
)


def compresses(layout: CacheLayout) -> bool:
    """Whether some layer keeps one entry for several tokens."""
    return any(isinstance(part, Compressed) for part, _ in layout.groups())


def compressed_pages(layout: CacheLayout, options: Options) -> list[tuple[int, Page]]:
    """Each page with the number of its layer.

    Raises:
        ValueError: vLLM refuses the combination, or has no kernel for such a layer.
    """
    dtype = options.kv_cache_dtype
    if dtype != "auto" and not dtype.startswith("fp8"):  # models/deepseek_v4/attention.py:112
        raise ValueError(
            f"--kv-cache-dtype {dtype}: vLLM {VERSION} keeps this model's cache in a format of its "
            "own in FP8, for auto and for every fp8 format, and refuses others"
        )
    if options.decode_context_parallel_size > 1:  # v1/kv_cache_interface.py:951
        raise ValueError(f"vLLM {VERSION} has no decode context parallelism for sliding layers")
    return [
        (number, page)
        for number, layer in enumerate(layout.layers)
        for part in layer.parts
        for page in _pages(part, options)
    ]


def _pages(part: Layer, options: Options) -> Iterator[Page]:
    if isinstance(part, SlidingWindow) and (part.kv_heads, part.k_dim) == (1, HEAD_DIM):
        yield _page("window", WINDOW_BLOCK, WINDOW_BLOCK * ROW, part.window)
    elif isinstance(part, Compressed) and part in KERNELS:
        yield from _compressed(part, math.lcm(BLOCK, options.block_size))
    else:
        raise ValueError(
            f"vLLM {VERSION} has no kernel for such a {part.noun} beside compressed ones"
        )


def _compressed(part: Compressed, block: int) -> Iterator[Page]:
    """The entries, the index keys (one 32-bit scale for 128 numbers) where there are some, and for
    either the tokens that wait: K and gate in 32 bits, twice where windows overlap. They are kept
    as a sliding window is (models/deepseek_v4/compressor.py:160, 297)."""
    index, twice = part.entry - HEAD_DIM, 2 if part.overlap else 1
    rows = {HEAD_DIM: ROW}
    if index:
        rows[index] = index + index // 128 * FLOAT32
    waiting = STATE_BLOCK[part.rate]
    for dim, row in rows.items():
        yield _page("latent", block, block // part.rate * row)
        yield _page("window", waiting, waiting * 2 * twice * dim * FLOAT32, twice * part.rate)


def _page(kind: str, block: int, size: int, window: int | None = None) -> Page:
    return Page(kind, (), block, ceil_div(size, ALIGN) * ALIGN, window)
