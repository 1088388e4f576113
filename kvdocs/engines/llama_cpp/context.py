"""How llama.cpp holds a layout: every cell it will ever use is allocated when it starts.

In: a layout, its effective config and the settings of a context. Out: the buffers, each as the
log states it, in bytes, exact. A cell holds one token of one layer, or one sequence's state.

Source: llama.cpp at commit 0c1e57098bba of 2026-10-01, as packed in llama-cpp-python 0.3.36 under
vendor/llama.cpp; files and lines below are of that commit. What it then really allocates is in
``evidence/records/llama_cpp.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention, Shared, State
from kvdocs.formula.dtypes import NAMES
from kvdocs.formula.layers import FullAttention, Latent, Layer
from kvdocs.formula.layout import CacheLayout
from kvdocs.formula.several import IndexKeys
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

VERSION = "llama.cpp 0c1e570 (llama-cpp-python 0.3.36)"
MOST_SEQUENCES = 256  # src/llama-cparams.h:8
MOST_CELLS = 2**32 - 256  # tokens of a context; counted in 32 bits, and rounded up
CELLS_ROUNDED_TO = 256  # src/llama-context.cpp:290 and 296, src/llama-kv-cache-iswa.cpp:73

# What --cache-type-k and --cache-type-v take (common/arg.cpp:304-314): elements and bytes of a
# block. A quantised block is a 16-bit scale, for some a 16-bit minimum or 4 bytes of fifth bits,
# and the elements.
_TAKEN = ("f32", "f16", "bf16", "q8_0", "q5_0", "q5_1", "q4_0", "q4_1", "iq4_nl")
TYPES = {name: (NAMES[name].elements, NAMES[name].bytes) for name in _TAKEN}

# model_types whose windows get a cache of their own (swa_type in src/models/*.cpp), and those whose
# windows are set aside, so that every token is kept: src/models/phi3.cpp:15-23 says so in the log;
# llama.cpp, qwen2.cpp, qwen3.cpp, qwen3moe.cpp and smollm3.cpp there read no window.
WINDOWS_KEPT = frozenset(
    {"cohere2", "exaone4", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text"}
    | {"gpt_oss", "llama4_text", "olmo3"}
)
WINDOWS_SET_ASIDE = frozenset(
    {"mistral", "mixtral", "phi3", "qwen2", "qwen3", "qwen3_moe", "smollm3"}
)
# model_types whose states follow src/llama-hparams.cpp:203-206 (the convolution's last kernel - 1
# inputs) and :238 (the recurrence), and the field that holds the kernel.
KERNEL_FIELDS = {
    "granitemoehybrid": "mamba_d_conv",
    "qwen3_5_moe_text": "linear_conv_kernel_dim",
    "qwen3_5_text": "linear_conv_kernel_dim",
    "qwen3_next": "linear_conv_kernel_dim",
}


@dataclass(frozen=True)
class Context:
    """The settings that decide the size of the cache; defaults are those of the command line.

    ``n_ctx`` (-c) counts the tokens of all ``sequences`` (-np) together. ``unified`` (-kvu) lets
    them share one set of cells. ``ubatch`` (-ub) is the number of tokens computed at once, which
    llama.cpp caps at -b.
    ``swa_full`` (--swa-full) gives sliding layers a cell for every token.

    Raises:
        ValueError: a number out of range, or a type that llama.cpp does not take.
    """

    n_ctx: int
    sequences: int = 1
    unified: bool = False
    type_k: str = "f16"
    type_v: str = "f16"
    ubatch: int = 512
    swa_full: bool = False
    flash_attention: bool = True

    def __post_init__(self) -> None:
        limits = {"n_ctx": MOST_CELLS, "sequences": MOST_SEQUENCES, "ubatch": 2**31}
        for name, most in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"{name} is {value!r}, not a whole number from 1 to {most:,}")
        for name in "type_k", "type_v":
            if getattr(self, name) not in TYPES:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; llama.cpp takes {', '.join(TYPES)}"
                )

    @property
    def streams(self) -> int:
        """Sets of cells: one for each sequence, or one for all (src/llama-kv-cache.cpp:81)."""
        return 1 if self.unified else self.sequences

    @property
    def cells(self) -> int:
        """Cells of one stream in a layer that keeps every token (src/llama-context.cpp:290-306).

        Rounded up twice, so that the log's "rounding down" can end above what was asked for.

        >>> Context(4000).cells, Context(10_000, sequences=3).cells
        (4096, 3584)
        """
        share = _rounded_up(self.n_ctx) // self.streams
        return _rounded_up(share)

    def window_cells(self, window: int) -> int:
        """Cells of one stream in a sliding layer (src/llama-kv-cache-iswa.cpp:71-81).

        >>> Context(32_768).window_cells(1024), Context(32_768).window_cells(128)
        (1536, 768)
        """
        if self.swa_full:
            return self.cells
        windows = window * (self.sequences if self.unified else 1)
        return _rounded_up(min(self.cells, windows + self.ubatch))


@dataclass(frozen=True)
class Buffer:
    """One cache as llama.cpp logs it: so many cells in each stream and layer, in bytes.

    ``kind`` is every (token), window, index or state. Of a state, ``k_bytes`` is the convolution's
    part (R in the log) and ``v_bytes`` the recurrence (S), and there is a cell a sequence.
    """

    kind: str
    cells: int
    streams: int
    layers: int
    k_bytes: int
    v_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of K and V together."""
        return self.k_bytes + self.v_bytes


def buffers(layout: CacheLayout, config: EffectiveConfig, context: Context) -> list[Buffer]:
    """The caches llama.cpp makes, in the order of its log.

    Raises:
        ValueError: llama.cpp refuses the types for this layout, or how it holds the layout has
            not been established.

    >>> from kvdocs.formula.layers import FullAttention
    >>> qwen = CacheLayout((FullAttention(4, 128, 128),) * 28)
    >>> config = EffectiveConfig.of({"model_type": "qwen2"}, "config.json")
    >>> [made] = buffers(qwen, config, Context(4096, type_k="q8_0", type_v="q4_0"))
    >>> made.k_bytes, made.v_bytes
    (62390272, 33030144)
    """
    if TYPES[context.type_v][0] > 1 and not context.flash_attention:
        # src/llama-context.cpp:3840-3848
        raise ValueError(f"llama.cpp needs flash attention for a V cache in {context.type_v}")
    parts = [part for layer in layout.layers for part in layer.parts if _keeps(part)]
    window = _window(parts, config.model_type)
    sliding = [part for part in parts if window and part.window]
    index = [part for part in parts if isinstance(part, IndexKeys)]
    states = [part for part in parts if isinstance(part, State)]
    every = [part for part in parts if part not in {*sliding, *index, *states}]
    made = [
        _cells("every", every, context.cells, context),
        _cells("window", sliding, context.window_cells(window), context),
        _cells("index", index, context.cells, context),
        state_buffer(states, config, context.sequences),
    ]
    return [buffer for buffer in made if buffer.layers]


def _keeps(part: Layer) -> bool:
    return not isinstance(part, Shared)  # nor does llama.cpp (src/llama-hparams.cpp:310-321)


def _window(parts: Sequence[Layer], model_type: str) -> int:
    """The window that sliding layers are cut to; 0 where all layers keep every token."""
    windows = {part.window for part in parts if part.window is not None}
    if len(windows) > 1:
        raise ValueError(f"llama.cpp takes one window for all layers, not {sorted(windows)}")
    if windows and model_type not in WINDOWS_KEPT | WINDOWS_SET_ASIDE:
        raise ValueError(f"what llama.cpp makes of the windows of {model_type} is not known here")
    return windows.pop() if windows and model_type in WINDOWS_KEPT else 0


def _cells(kind: str, parts: Sequence[Layer], cells: int, context: Context) -> Buffer:
    rows = [_elements(part, context) for part in parts]
    held = partial(_bytes, cells=cells * context.streams)
    k_bytes = sum(held(k, context.type_k) for k, _ in rows)
    v_bytes = sum(held(v, context.type_v) for _, v in rows)
    return Buffer(kind, cells, context.streams, len(parts), k_bytes, v_bytes)


def state_buffer(states: Sequence[State], config: EffectiveConfig, sequences: int) -> Buffer:
    """In 32 bits whatever the types, a cell a sequence (src/llama-memory-recurrent.cpp:101-103).

    The convolution keeps one input less than the kernel, which transformers keeps whole.

    Raises:
        ValueError: it is not established how llama.cpp holds the states of this model_type.
    """
    if states and config.model_type not in KERNEL_FIELDS:
        raise ValueError(f"what llama.cpp makes of the states of {config.model_type} is not known")
    kernel = config.required(KERNEL_FIELDS[config.model_type]) if states else 1
    conv = sum(state.conv // kernel * (kernel - 1) for state in states)
    recurrent = sum(state.recurrent for state in states)
    cells = 4 * sequences
    return Buffer("state", sequences, 1, len(states), conv * cells, recurrent * cells)


def _elements(part: Layer, context: Context) -> tuple[int, int]:
    """Elements of K and of V in one cell (src/llama-kv-cache.cpp:204-234)."""
    if isinstance(part, Latent | IndexKeys):
        # K alone, one head; the index keys of src/llama-kv-cache-dsa.cpp:44-57 likewise
        if context.type_k != context.type_v:  # src/llama-context.cpp:3835-3838
            raise ValueError("llama.cpp refuses different types for K and V of a latent cache")
        _check_divides(part.elements_per_token, context.type_k)
        return part.elements_per_token, 0
    cross = isinstance(part, CrossAttention)
    if isinstance(part, FullAttention) and part.v_dim and not cross:
        _check_divides(part.k_dim, context.type_k)
        _check_divides(part.v_dim, context.type_v)
        return part.kv_heads * part.k_dim, part.kv_heads * part.v_dim
    raise ValueError(f"how llama.cpp holds a layer of kind {part.kind!r} is not established here")


def _check_divides(head_dim: int, name: str) -> None:
    block, _ = TYPES[name]
    if head_dim % block:  # src/llama-context.cpp:3851-3870
        raise ValueError(f"blocks of {block} elements ({name}) do not divide head_dim {head_dim}")


def _bytes(elements: int, name: str, cells: int) -> int:
    block, size = TYPES[name]
    return elements // block * size * cells


def _rounded_up(cells: int) -> int:
    return ceil_div(cells, CELLS_ROUNDED_TO) * CELLS_ROUNDED_TO
