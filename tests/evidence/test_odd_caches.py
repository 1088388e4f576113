"""Caches that are no list of K and V: hidden states, states, a prompt that never leaves.

Small real models on the CPU, a prompt and then tokens decoded one by one; each step's tensors
against the layout of the config that transformers writes.
"""

import pytest

from kvdocs.engines.transformers.cache import bytes_by_transformers
from kvdocs.evidence.transformers.caches import returned
from kvdocs.evidence.transformers.contents import contents
from kvdocs.evidence.transformers.default_models import build, published
from kvdocs.evidence.transformers.targets import Change, Target
from kvdocs.formula import ConfigError, layout_of
from tests.installed import missing_architecture, older_classes

SMALL = {"vocab_size": 64, "hidden_size": 64}
XLNET = {"n_layer": 3, "d_model": 64, "n_head": 4, "d_inner": 64, "vocab_size": 64}
REFORMER = {
    "is_decoder": True,
    "num_buckets": 4,
    "attn_layers": ["local", "lsh", "lsh"],
    "local_attn_chunk_length": 8,
    "lsh_attn_chunk_length": 16,
}
XLSTM = SMALL | {"hidden_size": 128, "num_hidden_layers": 2, "num_heads": 4}


def steps(model_type: str, class_name: str, fields: dict, prompt: int, decoded: int):
    """The config, and after each step the tokens, the new ones and the bytes held."""
    if reason := older_classes() or missing_architecture(model_type):
        pytest.skip(reason)
    import torch

    torch.manual_seed(0)
    target = Target(model_type, class_name)
    model = build(target, Change("", set=fields, device="cpu"), "float32", None)
    past, held = {}, []
    for count in [prompt] + [1] * decoded:
        with torch.no_grad():
            out = model(torch.zeros(1, count, dtype=torch.long), use_cache=True, **past)
        past = returned(out)
        seen = (held[-1][0] if held else 0) + count
        held.append((seen, count, contents(*past.values(), layers=-1).total))
    return published(model), held


def shown(layout, tokens: int, new: int) -> int:
    return sum(bytes_by_transformers(part, tokens, new, 4)[0] for part in layout.layers)


@pytest.mark.parametrize("length", [None, 0, 8, 16])
def test_xlnet_keeps_the_inputs_of_its_last_tokens(length):
    config, held = steps(
        "xlnet", "XLNetLMHeadModel", XLNET | {"mem_len": length}, prompt=12, decoded=6
    )
    layout = layout_of(config)
    assert [bytes_ for _, _, bytes_ in held] == [shown(layout, t, n) for t, n, _ in held]
    assert held[-1][2] == layout.bytes(18, "float32") == 3 * 64 * 4 * min(18, length or 18)


def test_xlnet_without_its_memory_is_refused():
    with pytest.raises(ConfigError, match="use_mems_eval is not true"):
        layout_of({"model_type": "xlnet", "use_mems_eval": False})


@pytest.mark.parametrize(("prompt", "hashes"), [(20, 1), (20, 3), (32, 2)])
def test_reformer_keeps_inputs_and_buckets(prompt, hashes):
    fields = REFORMER | {"num_hashes": hashes}
    config, held = steps("reformer", "ReformerModelWithLMHead", fields, prompt, decoded=6)
    layout = layout_of(config)
    assert [bytes_ for _, _, bytes_ in held] == [layout.bytes(t, "float32") for t, _, _ in held]
    assert [bytes_ for _, _, bytes_ in held] == [shown(layout, t, n) for t, n, _ in held]


@pytest.mark.parametrize("prompt", [15, 16])
def test_buckets_after_a_prompt_of_one_chunk_take_four_bytes(prompt):
    config, held = steps("reformer", "ReformerModelWithLMHead", REFORMER, prompt, decoded=1)
    assert [bytes_ for _, _, bytes_ in held] == [
        shown(layout_of(config), tokens, new) for tokens, new, _ in held
    ]
    assert held[0][2] == layout_of(config).bytes(prompt, "float32")


def test_past_its_first_chunk_each_token_of_reformer_adds_its_buckets():
    layout = layout_of({"model_type": "reformer", "is_decoder": True})
    inputs, buckets = 6 * 256 * 2, 3 * 12 * 8
    assert layout.slope() == inputs
    assert layout.slope(64) == inputs + 65 * buckets
    assert layout.slope(65) == layout.slope_past_windows() == inputs + buckets


@pytest.mark.parametrize("layers", [[], ["lsh", "full"], "lsh", None, [["lsh"]]])
def test_reformer_names_a_list_that_it_cannot_read(layers):
    with pytest.raises(ConfigError, match="attn_layers is not a list of local and lsh"):
        layout_of({"model_type": "reformer", "is_decoder": True, "attn_layers": layers})


@pytest.mark.parametrize(
    "fields", [{}, {"qk_dim_factor": 1.5, "v_dim_factor": 0.5}, {"hidden_size": 256}]
)
def test_xlstm_keeps_a_state_that_does_not_grow(fields):
    config, held = steps("xlstm", "xLSTMForCausalLM", XLSTM | fields, prompt=9, decoded=2)
    assert {bytes_ for _, _, bytes_ in held} == {layout_of(config).bytes(0, "float32")}


def test_xlstm_with_two_widths_is_refused():
    with pytest.raises(ConfigError, match="embedding_dim is 64, and hidden_size is 4096"):
        layout_of({"model_type": "xlstm", "embedding_dim": 64})


def test_unlimited_ocr_keeps_its_prompt_and_a_window_of_what_it_wrote():
    window, prompt = 8, 11
    text = SMALL | {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"intermediate_size": 64, "moe_intermediate_size": 16, "n_routed_experts": 4}
    text |= {"num_experts_per_tok": 2, "n_shared_experts": 1, "sliding_window": window}
    vision = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    parts = {"sam_config": vision | {"mlp_dim": 32}, "encoder_config": vision}
    config, held = steps(
        "unlimited_ocr",
        "UnlimitedOcrForConditionalGeneration",
        {"text_config": text, "vision_config": parts},
        prompt,
        decoded=20,
    )
    layout = layout_of(config)
    assert layout.bytes(prompt, "float32") == 2 * 2 * 2 * 16 * 4 * prompt
    for tokens, _, bytes_ in held:
        written = min(tokens - prompt, window - 1)  # the next token brings itself
        assert bytes_ == layout.bytes(prompt + written, "float32")


def test_the_first_release_of_unlimited_ocr_has_its_text_part_under_another_name():
    text = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}
    text |= {"num_key_value_heads": 2}
    older = {"model_type": "unlimited_ocr", "language_config": text, "sliding_window": 32}
    layout = layout_of(older)
    newer = {"model_type": "unlimited_ocr", "text_config": text | {"sliding_window": 32}}
    assert layout == layout_of(newer)
    assert layout.slope() == 2 * 3 * 2 * 16 * 2
    if reason := missing_architecture("unlimited_ocr"):
        pytest.skip(reason)
    from transformers import AutoConfig

    theirs = AutoConfig.for_model(**older).text_config
    assert (theirs.num_hidden_layers, theirs.sliding_window) == (3, layout.layers[0].generated)


def test_errors_name_the_part_under_the_name_it_has():
    config = {"model_type": "unlimited_ocr", "language_config": {"num_hidden_layers": "3"}}
    with pytest.raises(ConfigError, match=r"language_config\.num_hidden_layers is"):
        layout_of(config)


def test_blt_keeps_the_bytes_of_its_encoder_and_its_decoder():
    sizes = {"hidden_size": 64, "intermediate_size": 64, "hidden_size_global": 128}
    fields = {
        "num_hidden_layers": 3,  # without it, its code cannot make a cache
        "encoder_hash_byte_group_vocab": 20,
        "patcher_config": {"num_hidden_layers": 1},
        "encoder_config": sizes | {"num_hidden_layers": 2, "num_attention_heads": 4},
        "decoder_config": sizes | {"num_hidden_layers": 3, "num_attention_heads": 8},
        "global_config": {"hidden_size": 128, "num_hidden_layers": 1, "intermediate_size": 64},
    }
    config, held = steps("blt", "BltForCausalLM", fields, prompt=20, decoded=3)
    layout = layout_of(config)
    assert [x.kv_heads for x in layout.layers] == [4, 4, 8, 8, 8]
    assert [bytes_ for _, _, bytes_ in held] == [layout.bytes(t, "float32") for t, _, _ in held]


def test_blt_names_the_part_with_the_wrong_field():
    config = {"model_type": "blt", "decoder_config": {"num_attention_heads": 0}}
    with pytest.raises(ConfigError, match=r"decoder_config\.num_attention_heads is 0"):
        layout_of(config)
