"""How many sequences of several models fit on one card in each engine."""

from kvdocs.facts.models import Model
from kvdocs.fit.options import ask
from kvdocs.site.engines import NAMES
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import span

TOKENS, OVERHEAD = 10_000, "1 GiB"
MODELS = {
    "Qwen/Qwen2.5-7B-Instruct": "every token",
    "google/gemma-3-4b-it": "mostly a window",
    "openai/gpt-oss-20b": "half a window",
    "mistralai/Mistral-7B-v0.1": "a window",
    "ibm-granite/granite-4.0-h-tiny": "mostly a state",
}


def seats(found: Model, engine: str) -> str:
    """Sequences that surely fit, and at best."""
    answer = ask(found, gpu="rtx_4090", engine=engine, tokens=TOKENS, overhead=OVERHEAD)
    return span(answer.sure.sequences, answer.best.sequences).replace(" ", "\u00a0")


rows = [
    [found.name, keeps, *(seats(found, name) for name in NAMES.values())]
    for found, keeps in ((model(one), keeps) for one, keeps in MODELS.items())
]
print(markdown(["model", "layers keep", *NAMES], rows, "llrrr"))
