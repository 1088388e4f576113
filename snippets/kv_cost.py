"""kv_cost.py: the price of a token and of fifty conversations, read off published configs.

pip install transformers
python kv_cost.py [MODEL ...]     each MODEL a Hub id, or a folder with a config.json
"""

import sys

from transformers import AutoConfig

MODELS = sys.argv[1:] or [
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "microsoft/Phi-3-mini-4k-instruct",
]
DTYPE_BYTES = 2  # fp16 or bf16; an fp8 cache takes 1
TOKENS = 4096  # the length of a conversation: put your own p99 here
CONVERSATIONS = 50

# A config with one of these has a cache that is not K and V of every KV head and token.
OTHER_FORMULAS = (
    *("is_encoder_decoder", "kv_lora_rank", "multi_query", "num_kv_shared_layers"),
    *("mem_len", "attn_layers"),  # hidden states in place of K and V: XLNet, Reformer
)


def row(name: str) -> str:
    # Numbers need no code from the Hub: trust_remote_code stays off.
    cfg = AutoConfig.from_pretrained(name, trust_remote_code=False).get_text_config(decoder=True)
    for field in OTHER_FORMULAS:
        if value := getattr(cfg, field, None):
            raise ValueError(f"{field} is {value}: this formula does not cover it")

    layers = cfg.num_hidden_layers
    att_h = cfg.num_attention_heads
    kv_h = getattr(cfg, "num_key_value_heads", None) or att_h  # not given: one per head
    head_dim = getattr(cfg, "head_dim", None) or cfg.hidden_size // att_h

    window = getattr(cfg, "sliding_window", None)  # sliding layers keep only the last tokens
    kinds = getattr(cfg, "layer_types", None)
    kinds = kinds or ["sliding_attention" if window else "full_attention"] * layers
    if other := set(kinds) - {"full_attention", "sliding_attention"}:
        raise ValueError(f"{' and '.join(sorted(other))}: this formula does not cover it")
    sliding = kinds.count("sliding_attention") if window else 0

    per_token_and_layer = 2 * kv_h * head_dim * DTYPE_BYTES  # 2: K and V
    per_token = layers * per_token_and_layer
    kept = (layers - sliding) * TOKENS + sliding * min(TOKENS, window or TOKENS)
    at_scale = CONVERSATIONS * kept * per_token_and_layer

    text = f"{layers:>6} {kv_h:>9} {att_h:>6} {head_dim:>9}"
    text += f" {per_token / 1024:>10.1f} {at_scale / 1e9:>{len(AT_SCALE)}.2f}"
    return text + (f"  {sliding} layers keep the last {window:,} tokens" if sliding else "")


AT_SCALE = f"GB for {CONVERSATIONS} x {TOKENS:,}"
width = max(map(len, MODELS))
print(f"{'model':<{width}} layers  KV heads  heads  head_dim  KiB/token {AT_SCALE}")
for name in MODELS:
    try:
        print(f"{name:<{width}} {row(name)}")
    except Exception as error:  # one model's trouble is one row
        print(f"{name:<{width}}   no answer: {str(error).splitlines()[0][:80]}")
