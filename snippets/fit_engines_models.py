"""How many sequences of several models fit on one card in each engine."""

from kvdocs.engines.question import Question
from kvdocs.facts.claims import load_gpus
from kvdocs.facts.models import Model
from kvdocs.fit.capacity import fit
from kvdocs.site.engines import QUESTIONS
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import span

GIB, TOKENS = 2**30, 10_000
MODELS = {
    "Qwen/Qwen2.5-7B-Instruct": "every token",
    "google/gemma-3-4b-it": "mostly a window",
    "openai/gpt-oss-20b": "half a window",
    "mistralai/Mistral-7B-v0.1": "a window",
    "ibm-granite/granite-4.0-h-tiny": "mostly a state",
}
card = load_gpus()["rtx_4090"]


def seats(found: Model, ask: type[Question]) -> str:
    """Sequences that surely fit, and at best."""
    assert found.weights is not None
    memory, weights = card.memory_mib * 2**20, found.weights.bytes
    answer = fit(ask(found, memory, card, tokens=TOKENS, weights=weights, overhead=GIB))
    return span(answer.sure.sequences, answer.best.sequences).replace(" ", "\u00a0")


rows = [
    [found.name, keeps, *(seats(found, ask) for ask in QUESTIONS.values())]
    for found, keeps in ((model(name), keeps) for name, keeps in MODELS.items())
]
print(markdown(["model", "layers keep", *QUESTIONS], rows, "llrrr"))
