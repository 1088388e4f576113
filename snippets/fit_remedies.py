"""What `kvdocs fit` says where it does not fit."""

from kvdocs.engines.vllm.question import VllmQuestion
from kvdocs.facts.claims import load_gpus
from kvdocs.fit.capacity import fit
from kvdocs.fit.remedies import remedies
from kvdocs.fit.table import table
from kvdocs.site.scope import model

found = model("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
assert found.weights is not None
memory, weights = card.memory_mib * 2**20, found.weights.bytes
answer = fit(VllmQuestion(found, memory, card, tokens=4096, users=30, weights=weights))
print("``` {.text .kv-wrap}")
print(table(answer, remedies(answer)).partition("\n\n")[2].partition("\n\n")[2])
print("```")
