"""Small configs of every family, a few layers each, that run with real tensors on a CPU.

Published-style keys only, so each goes through the formula and through AutoConfig as a whole.
"""

SIZES = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,  # not hidden_size ÷ heads, as in many published models
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
LATENT = {
    "kv_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
    "q_lora_rank": 20,
    "num_key_value_heads": 8,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
INDEX = {"index_head_dim": 8, "index_n_heads": 2, "index_topk": 4}
DELTA = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
}
V4 = {
    "num_hidden_layers": 4,
    "compress_ratios": [0, 4, 128, 4],
    "q_lora_rank": 16,
    "o_lora_rank": 16,
    "o_groups": 2,
    "qk_rope_head_dim": 8,
    "index_head_dim": 8,
    "index_n_heads": 2,
    "index_topk": 4,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "num_key_value_heads": 1,
}
ONLY_HIDDEN_SIZE = {"head_dim": None}
WINDOW = {"sliding_window": 8}
# Else the embedding of every layer alone has hundreds of millions of values.
PER_LAYER = {"vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 8}


def _tiny(model_type: str, *parts: dict) -> dict:
    config = {"model_type": model_type} | SIZES
    for part in parts:
        config |= part
    return {key: value for key, value in config.items() if value is not None}


# name -> (config, distinct kinds of layer it must have)
FAMILIES: dict[str, tuple[dict, set[str]]] = {
    "gpt2, every head": (
        {
            "model_type": "gpt2",
            "vocab_size": 64,
            "n_embd": 64,
            "n_head": 4,
            "n_layer": 3,
            "n_positions": 256,
        },
        {"full"},
    ),
    "llama, grouped": (_tiny("llama"), {"full"}),
    "llama, no KV heads given": (_tiny("llama", {"num_key_value_heads": None}), {"full"}),
    "qwen2, no head_dim": (_tiny("qwen2", ONLY_HIDDEN_SIZE), {"full"}),
    "qwen2, last layers slide": (
        _tiny("qwen2", WINDOW, {"use_sliding_window": True, "max_window_layers": 1}),
        {"full", "window"},
    ),
    "qwen3, grouped": (_tiny("qwen3"), {"full"}),
    "qwen3_moe, grouped": (
        _tiny("qwen3_moe", {"num_experts": 4, "num_experts_per_tok": 2}),
        {"full"},
    ),
    "olmo2, every head": (
        _tiny("olmo2", ONLY_HIDDEN_SIZE, {"num_key_value_heads": 8}),
        {"full"},
    ),
    "olmo3, every fourth full": (_tiny("olmo3", ONLY_HIDDEN_SIZE, WINDOW), {"full", "window"}),
    "smollm3, no rope where it slides": (
        _tiny("smollm3", ONLY_HIDDEN_SIZE, WINDOW, {"use_sliding_window": True}),
        {"full", "window"},
    ),
    "minimax_m2, grouped": (_tiny("minimax_m2", EXPERTS), {"full"}),
    "falcon, one KV head": (
        {
            "model_type": "falcon",
            "vocab_size": 64,
            "hidden_size": 64,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "multi_query": True,
            "num_kv_heads": 4,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        {"full"},
    ),
    "mistral, window": (_tiny("mistral", WINDOW), {"window"}),
    "mistral, window off": (_tiny("mistral") | {"sliding_window": None}, {"full"}),
    "mixtral, window": (_tiny("mixtral", WINDOW, EXPERTS), {"window"}),
    "phi3, window": (_tiny("phi3", ONLY_HIDDEN_SIZE, WINDOW), {"window"}),
    "gemma2, alternating": (_tiny("gemma2", WINDOW), {"full", "window"}),
    "gemma3, every sixth full": (
        _tiny("gemma3_text", WINDOW, {"num_hidden_layers": 7}),
        {"full", "window"},
    ),
    "gpt_oss, alternating": (_tiny("gpt_oss", WINDOW, EXPERTS), {"full", "window"}),
    "deepseek_v2, latent": (_tiny("deepseek_v2", LATENT, {"head_dim": None}), {"latent"}),
    "deepseek_v3, latent": (_tiny("deepseek_v3", LATENT, {"head_dim": None}), {"latent"}),
    "kimi_k2, latent": (_tiny("kimi_k2", LATENT, {"head_dim": None}), {"latent"}),
    "deepseek_v32, latent and index": (
        _tiny("deepseek_v32", LATENT, INDEX, {"head_dim": None}),
        {"latent + index"},
    ),
    "glm_moe_dsa, every second index shared": (
        _tiny("glm_moe_dsa", LATENT, INDEX, {"head_dim": None, "index_topk_freq": 2}),
        {"latent + index", "latent"},
    ),
    "deepseek_v4, compressed": (
        _tiny("deepseek_v4", V4, WINDOW),
        {"window", "window + compressed"},
    ),
    "llama4, chunks": (
        _tiny("llama4_text", EXPERTS, {"attention_chunk_size": 8, "intermediate_size_mlp": 64}),
        {"full", "chunk"},
    ),
    "gemma3n, shared": (
        _tiny("gemma3n_text", WINDOW, PER_LAYER, {"num_hidden_layers": 10})
        | {"num_kv_shared_layers": 5},
        {"full", "window", "shared"},
    ),
    "gemma4, wide full layers and shared": (
        _tiny("gemma4_text", WINDOW, PER_LAYER, {"num_hidden_layers": 12})
        | {"num_kv_shared_layers": 6, "global_head_dim": 32},
        {"full", "window", "shared"},
    ),
    "qwen3_next, gated delta": (
        _tiny("qwen3_next", DELTA, {"num_experts": 4, "num_experts_per_tok": 2}),
        {"full", "state"},
    ),
    "mamba2, states only": (
        _tiny("mamba2", {"num_attention_heads": None, "num_key_value_heads": None})
        | {"expand": 2, "head_dim": 16, "num_heads": 8, "state_size": 8, "n_groups": 2},
        {"state"},
    ),
    "mamba, states only": (
        {"model_type": "mamba", "vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 3},
        {"state"},
    ),
    "falcon_h1, attention and state": (
        _tiny("falcon_h1")
        | {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8},
        {"full + state"},
    ),
    "lfm2, short convolutions": (
        _tiny("lfm2", ONLY_HIDDEN_SIZE, {"full_attn_idxs": [1, 3]}),
        {"full", "state"},
    ),
    "nemotron_h, layers without a cache": (
        _tiny("nemotron_h")
        | {"hybrid_override_pattern": "M-*-", "mamba_num_heads": 4, "mamba_head_dim": 16}
        | {"ssm_state_size": 8, "n_groups": 2, "n_routed_experts": 4},
        {"full", "state", "none"},
    ),
    "mimo_v2_flash, K wider than V": (
        _tiny(
            "mimo_v2_flash",
            WINDOW,
            EXPERTS,
            {"v_head_dim": 8, "n_routed_experts": 4, "moe_intermediate_size": 32},
        ),
        {"full", "window"},
    ),
}
