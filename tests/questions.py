"""Questions that every part of the package must answer alike: some 240, drawn from a fixed seed.

In: the snapshot's configs, and variants of them that nobody published: fewer layers, other heads, a
cache in FP8 that the config names, quantised weights. Out: ``Question``s with their kinds.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from fractions import Fraction

from kvdocs.facts.models import Model, Source
from kvdocs.facts.snapshot import load, load_all

SEED = 20261130
FP8_CACHE = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}, "quant_method": "fp8"}
QUANTISED = ({"quant_method": "gptq", "bits": 4}, {"quant_method": "awq", "bits": 4})
TOKENS = (512, 4096, 10_000, 32_768)
RANKS = (1, 1, 1, 2, 4)
HYBRID = (
    "gemma",
    "gpt-oss",
    "granite-4",
    "Qwen3-Next",
    "Qwen3.5",
    "Nemotron-H",
    "Olmo-3",
    "Llama-4",
)
LATENT = ("DeepSeek-R1", "DeepSeek-V2", "DeepSeek-V3", "Kimi", "GLM-5")
PLAIN = ("Qwen2.5", "Llama-3", "Qwen3-8B", "Qwen3-14B", "Mistral-7B-Instruct", "SmolLM", "Phi-4")


@dataclass(frozen=True)
class Question:
    """A model, vLLM's flags, the GiB for the cache as a log prints them, and the length."""

    model: Model
    gib: str
    tokens: int
    options: dict[str, object] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()

    def __str__(self) -> str:
        said = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.model.id} {self.gib} GiB, {self.tokens} tokens {said}"

    @property
    def available(self) -> int:
        """Bytes, as the middle of what prints so."""
        return round(Fraction(self.gib) * 2**30)


def questions() -> list[Question]:
    """The questions, the same in every run."""
    draw, found = random.Random(SEED), []
    for model in load_all():
        found.append(_ask(draw, model, "published"))
    by_name = {model.id: model for model in load_all()}

    def some(names: tuple[str, ...]) -> list[Model]:
        return [model for name, model in by_name.items() if any(one in name for one in names)]

    for model in some(HYBRID) * 2:
        found.append(_ask(draw, _smaller(draw, model), "hybrid"))
    for model in some(LATENT) * 3:
        found.append(_ask(draw, _smaller(draw, model), "latent"))
    for model in some(PLAIN + LATENT + HYBRID):
        named = _with(_smaller(draw, model), quantization_config=FP8_CACHE)
        found.append(_ask(draw, named, "fp8 named"))
    for model in some(PLAIN) * 2:
        weights = draw.choice(QUANTISED)
        found.append(
            _ask(draw, _with(_smaller(draw, model), quantization_config=weights), "quantised")
        )
    return [*found, *_refused(draw)]


def _refused(draw: random.Random) -> list[Question]:
    """What vLLM 0.33.0 refuses: classes it lost or never had, ranks that divide no heads, formats
    without a kernel, cards too old."""
    qwen, v3, oss = (
        load(name)
        for name in ("Qwen/Qwen2.5-7B-Instruct", "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-20b")
    )
    names = ("MPTForCausalLM", "T5ForConditionalGeneration", "NoSuchForCausalLM", "NotInVllmModel")
    models = [_with(_smaller(draw, qwen), architectures=[name]) for name in names]
    asks = [(model, {}) for model in models]
    asks += [(_smaller(draw, qwen), {"tp": ranks}) for ranks in (3, 5, 8, 16)]
    formats = ("nvfp4", "int8_per_token_head", "turboquant_4bit_nc", "fp8_inc", "octave_k3v4")
    asks += [(_smaller(draw, v3), {"kv_dtype": name}) for name in formats]
    formats = (
        "turboquant_k8v4",
        "ultraquant_4bit",
        "octave_k3v3",
        "fp8_ds_mla",
        "octave_k3v3_compact",
    )
    asks += [(_smaller(draw, oss), {"kv_dtype": name}) for name in formats]
    asks += [(_smaller(draw, qwen), {"kv_dtype": name, "gpu": "t4"}) for name in ("fp8", "nvfp4")]
    asks += [(_smaller(draw, v3), {"kv_dtype": "fp8", "gpu": card}) for card in ("t4", "rtx_3090")]
    return [
        Question(
            model, "20.00", draw.choice(TOKENS), options, frozenset({"refused", "unpublished"})
        )
        for model, options in asks
    ]


def _ask(draw: random.Random, model: Model, kind: str) -> Question:
    options: dict[str, object] = {"tp": draw.choice(RANKS)}
    if kind != "fp8 named" and draw.random() < 0.3:
        options["kv_dtype"] = draw.choice(("fp8", "bfloat16", "fp8_e5m2"))
    kinds = {kind} if kind == "published" else {kind, "unpublished"}
    gib = f"{draw.uniform(1, 60):.2f}"
    return Question(model, gib, draw.choice(TOKENS), options, frozenset(kinds))


def _smaller(draw: random.Random, model: Model) -> Model:
    """The model with fewer layers, under a name of its own; its weights are nobody's."""
    config = copy.deepcopy(dict(model.config))
    part = config.get("text_config", config)
    layers = draw.randint(4, max(4, part["num_hidden_layers"] - 1))
    for name, value in part.items():
        if isinstance(value, list | str) and len(value) == part["num_hidden_layers"]:
            part[name] = value[:layers]
    part["num_hidden_layers"] = layers
    return Model(f"{model.id} of {layers} layers", config, Source("file"))


def without_named_dtype(model: Model) -> Model:
    """The model with a config that names no dtype of a cache."""
    return _with(model, quantization_config=None)


def _with(model: Model, **fields: object) -> Model:
    config = {**model.config, **fields}
    config.pop("hf_quant_config", None)
    return Model(model.id, config, model.source)
