"""What cards sold as 24 GB really have, and how many conversations of Qwen2.5-7B that makes."""

from kvdocs.engines.vllm.question import VllmQuestion
from kvdocs.facts.claims import load_gpus
from kvdocs.fit.capacity import fit
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import ratio

found = model("Qwen/Qwen2.5-7B-Instruct")
assert found.weights is not None
rows = []
for card in sorted(load_gpus().values(), key=lambda one: -one.memory_mib):
    if card.sold_as != "24 GB":
        continue
    memory = card.memory_mib * 2**20
    question = VllmQuestion(found, memory, card, tokens=4096, weights=found.weights.bytes)
    answer = fit(question)
    seats = f"{answer.sure.sequences} to {answer.best.sequences}"
    fp8 = "storage and arithmetic" if card.fp8_arithmetic else "storage only"
    rows.append(
        [
            card.name,
            f"{card.memory_mib:,}&nbsp;MiB",
            f"{ratio(memory, 2**30, 2)}&nbsp;GiB",
            seats,
            fp8,
        ]
    )
print(markdown(["card", "driver reports", "that is", "seats", "FP8"], rows, "lrrrl"))
