"""Where the memory of one card goes as conversations are added."""

from fractions import Fraction

from kvdocs.facts.claims import load_claims, load_gpus
from kvdocs.facts.snapshot import load
from kvdocs.site.charts import Wedge, memory_wedge

TOKENS = 4096
model = load("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
share = Fraction(str(load_claims()["vllm.gpu_memory_utilization.default"].value))

memory = card.memory_mib * 1024**2
kept_free = memory - int(memory * share)  # what vLLM leaves alone by default

print(
    memory_wedge(
        Wedge(
            model=model.name,
            weights_bytes=model.weights.bytes,
            bytes_per_conversation=model.layout.bytes(TOKENS),
            tokens=TOKENS,
            memory_bytes=memory,
            memory_name=card.name,
            other_bytes=kept_free,
        )
    )
)
