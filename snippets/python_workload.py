"""How many sequences of your traffic a card holds: lines of a log, or its path."""

import kvdocs

log = ['{"prompt_tokens": 700, "completion_tokens": 90}'] * 90
log += ['{"prompt_tokens": 9000, "completion_tokens": 400}'] * 10
found = kvdocs.workload(log, model="Qwen/Qwen2.5-7B-Instruct", gpu="l4", kv_dtype="fp8")
for plan in found.plans:
    print(f"{plan.way}: {plan.sequences} sequences, risk {float(plan.overflow):.4f}")
