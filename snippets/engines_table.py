"""One sequence in each engine, beside what the model needs: bytes, and the ratio to the need."""

from collections.abc import Callable

from kvdocs.facts.models import Model
from kvdocs.site import engines
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import in_unit, ratio

TOKENS = 10_000
MODELS = (
    "Qwen/Qwen2.5-7B-Instruct",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "microsoft/Phi-3-mini-4k-instruct",
    "deepseek-ai/DeepSeek-V3",
    "Qwen/Qwen3.5-27B",
)
COLUMNS = (
    engines.transformers_shown,
    engines.transformers_stored,
    engines.vllm_request,
    engines.llama_cpp_context,
)


def cell(column: Callable[[Model, int], engines.Held], known: Model, need: int) -> str:
    """The size, and under it the ratio where that is not 1.00; a dash where it is not known."""
    try:
        held = column(known, TOKENS).bytes
    except ValueError:
        return "–"
    times = ratio(held, need, 2)
    return size(held) + ("" if times == "1.00" else f"<br><small>×\u00a0{times}</small>")


def size(count: int) -> str:
    """In MiB, and never broken before the unit."""
    return in_unit(count, "MiB").replace(" ", "\u00a0")


rows = []
for known in map(model, MODELS):
    need = known.layout.bytes(TOKENS)
    name = known.name.removesuffix("-Instruct").removesuffix("-instruct").removesuffix("-it")
    rows.append([name, size(need), *(cell(column, known, need) for column in COLUMNS)])

header = ["Model", "Needs", "transformers", "its memory", "vLLM, at most", "llama.cpp"]
print(markdown(header, rows, right="lrrrrr"))
if any("–" in row for row in rows):
    print("\nA dash: what the engine does with such layers is not known here.")
