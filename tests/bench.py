"""Timings, as ratios within one run: python -m tests.bench. Not part of the tests.

Cold start of `kvdocs cost` against `python -c pass`, each a fresh process, taken in turn.
Layouts per second over every config of the snapshot, from parsed JSON, against transformers'
AutoConfig on the same configs, taken in turn; and how the time grows with the layers.
"""

import copy
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

ROUNDS = 21
LAYOUT_ROUNDS = 9
PER_ROUND = 20  # passes over the snapshot by the formula, for one by AutoConfig


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def cold_start() -> dict[str, float]:
    os.environ.pop("KVDOCS_HUB", None)
    bare = [sys.executable, "-c", "pass"]
    cost = [sys.executable, "-m", "kvdocs", "cost", "Qwen/Qwen2.5-7B-Instruct"]
    pairs = [(seconds(bare), seconds(cost)) for _ in range(ROUNDS + 1)][1:]
    return {
        "python_c_pass_s": round(statistics.median(a for a, _ in pairs), 4),
        "kvdocs_cost_s": round(statistics.median(b for _, b in pairs), 4),
        "ratio": round(statistics.median(b / a for a, b in pairs), 2),
        "rounds": ROUNDS,
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


def main() -> None:
    print(json.dumps({"cold_start": cold_start(), "layouts": layouts()}, indent=1))


if __name__ == "__main__":
    main()
