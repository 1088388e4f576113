"""Timings, as ratios within one run: python -m tests.bench. Not part of the tests.

How long a command takes from start to exit, against `python -c pass`: fresh processes, compiled
bytecode, in pairs, either one first in turn, so that what else the machine does meets both. The
ratio is the median over the pairs; over its limit, the bench fails with status 1. "live id" asks a
Hub on this machine through the real client. `start` measures these alone.

Layouts per second over every config of the snapshot, from parsed JSON, against transformers'
AutoConfig on the same configs, taken in turn; and how the time grows with the layers.
"""

import compileall
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.facts.hub_server import running_hub

ROUNDS = 21
LAYOUT_ROUNDS = 9
PER_ROUND = 20  # passes over the snapshot by the formula, for one by AutoConfig
MODEL = "Qwen/Qwen2.5-7B-Instruct"
LIVE = "somebody/new-model"
LOG = """\
vllm serve Qwen/Qwen3-14B
Available KV cache memory: 6.51 GiB
GPU KV cache size: 42,656 tokens
Maximum concurrency for 32,768 tokens per request: 1.30x
"""
STARTS = {  # what to ask, and how many times `python -c pass` it may take
    "cost": (["cost", MODEL], 3.0),
    "fit": (["fit", MODEL, "--gpu", "4090", "--users", "10"], 5.0),
    "explain": (["explain", "server.log"], 5.0),
    "live id": (["cost", LIVE], 8.0),
}


def starts() -> dict[str, dict[str, object]]:
    """Each command of ``STARTS``: seconds, ratio, limit and whether it holds."""
    import kvdocs
    from kvdocs.facts.snapshot import load

    known = load(MODEL)
    assert known is not None
    compileall.compile_dir(Path(kvdocs.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder, running_hub() as server:
        Path(folder, "server.log").write_text(LOG, encoding="utf-8")
        server.add(LIVE, dict(known.config), safetensors={"parameters": {"BF16": 7_615_616_512}})
        env = clean(folder) | {"HF_ENDPOINT": server.url, "HF_HOME": folder, "NO_PROXY": "*"}

        def seconds(*arguments: str) -> float:
            command = [sys.executable, *arguments]
            # Without a timeout: with one, Python looks only after 16, 32 or 64 ms again.
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
            return time.perf_counter() - start

        found = {name: _start(seconds, *STARTS[name]) for name in STARTS}
        assert server.requests, "the live id was not asked for"
        return found


def clean(folder: str) -> dict[str, str]:
    """The environment without what changes how Python or the Hub's client starts."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "KVDOCS_", "PYTHON"))}
    return kept | {"PYTHONPATH": str(Path(__file__).parents[1]), "HOME": folder}


def _start(seconds: Callable[..., float], arguments: list[str], limit: float) -> dict[str, object]:
    def bare() -> float:
        return seconds("-c", "pass")

    def asked() -> float:
        return seconds("-m", "kvdocs", *arguments)

    pairs = []
    for number in range(ROUNDS + 1):
        if number % 2:
            passed = bare()
            pairs.append((passed, asked()))
        else:
            answered = asked()
            pairs.append((bare(), answered))
    pairs = pairs[1:]  # the first fills the caches of files
    ratio = statistics.median(b / a for a, b in pairs)
    return {
        "python_c_pass_s": round(statistics.median(a for a, _ in pairs), 4),
        "answer_s": round(statistics.median(b for _, b in pairs), 4),
        "ratio": round(ratio, 2),
        "at_most": limit,
        "holds": ratio <= limit,
    }


def layouts() -> dict[str, float]:
    """One core: the time is this process's own, so other work on the machine does not count."""
    from kvdocs.facts.snapshot import load_all
    from kvdocs.formula import layout_of

    models = [(dict(model.config), model.id) for model in load_all()]

    def formula() -> None:
        for _ in range(PER_ROUND):
            for config, name in models:
                layout_of(config, name)

    formula()  # rules and defaults are read once
    found = {"models": len(models), "rounds": LAYOUT_ROUNDS, **growth(layout_of)}
    auto = auto_config([config for config, _ in models])
    if auto is None:
        ours = [own_seconds(formula) for _ in range(LAYOUT_ROUNDS)]
        return found | _per_second(ours, PER_ROUND * len(models))
    theirs_run, count = auto
    pairs = [(own_seconds(formula), own_seconds(theirs_run)) for _ in range(LAYOUT_ROUNDS)]
    each = [(a / (PER_ROUND * len(models)), b / count) for a, b in pairs]
    return (
        found
        | _per_second([a for a, _ in pairs], PER_ROUND * len(models))
        | {
            "auto_config_models": count,
            "auto_config_per_s": round(1 / statistics.median(b for _, b in each)),
            "ratio_to_auto_config": round(statistics.median(b / a for a, b in each), 1),
        }
    )


def _per_second(passes: list[float], layouts_each: int) -> dict[str, float]:
    return {"layouts_per_s": round(layouts_each / statistics.median(passes))}


def growth(layout_of: Callable[[dict], object]) -> dict[str, float]:
    """Time for 8,000 layers over time for 1,000, all sliding patterns written out: about 8."""
    times = {}
    for count in (1000, 8000):
        types = ["sliding_attention", "full_attention"] * (count // 2)
        config = {"model_type": "gemma2", "num_hidden_layers": count, "layer_types": types}
        times[count] = statistics.median(
            own_seconds(lambda c=config: layout_of(c)) for _ in range(9)
        )
    return {"time_8000_over_1000_layers": round(times[8000] / times[1000], 1)}


def auto_config(configs: list[dict]) -> tuple[Callable[[], None], int] | None:
    """AutoConfig over the configs that it takes, and how many; None without transformers."""
    try:
        import transformers
    except ImportError:
        return None
    transformers.logging.set_verbosity_error()

    def made(config: dict) -> bool:
        fields = {k: v for k, v in config.items() if k not in ("model_type", "auto_map")}
        try:
            transformers.AutoConfig.for_model(config["model_type"], **copy.deepcopy(fields))
        except Exception:
            return False
        return True

    taken = [config for config in configs if made(config)]
    return (lambda: [made(config) for config in taken] and None), len(taken)


def own_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> int:
    found = starts()
    print(json.dumps({"rounds": ROUNDS, "starts": found}, indent=1))
    if sys.argv[1:] != ["start"]:
        print(json.dumps({"layouts": layouts()}, indent=1))
    late = [name for name, start in found.items() if not start["holds"]]
    if late:
        print(f"too slow to start: {', '.join(late)}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
