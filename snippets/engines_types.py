"""The element types of llama.cpp's cache: bits, and one model's cache in each."""

from kvdocs.engines.llama_cpp.context import TYPES, Context, buffers
from kvdocs.formula.config import EffectiveConfig
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import in_unit, ratio

TOKENS = 4096
QWEN = model("Qwen/Qwen2.5-7B-Instruct")
CONFIG = EffectiveConfig.of(QWEN.config, QWEN.id)


def held(name: str) -> int:
    """Bytes of ``TOKENS`` cells with K and V in one type."""
    context = Context(TOKENS, type_k=name, type_v=name)
    return sum(buffer.bytes for buffer in buffers(QWEN.layout, CONFIG, context))


rows = [
    [
        f"`{name}`",
        f"{elements:,}",
        f"{size:,}",
        ratio(8 * size, elements, 1),
        in_unit(held(name), "MiB"),
        ratio(held(name), held("f16"), 2),
    ]
    for name, (elements, size) in TYPES.items()
]
header = ["Type", "Elements", "Bytes", "Bits each", "Cache", "of f16"]
print(markdown(header, rows, right="lrrrrr"))
