"""Timings, as ratios within one run: python -m tests.bench. Not part of the tests.

Cold start of `kvdocs cost` against `python -c pass`, each a fresh process, taken in turn.
"""

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 21


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    os.environ.pop("KVDOCS_HUB", None)
    bare = [sys.executable, "-c", "pass"]
    cost = [sys.executable, "-m", "kvdocs", "cost", "Qwen/Qwen2.5-7B-Instruct"]
    pairs = [(seconds(bare), seconds(cost)) for _ in range(ROUNDS + 1)][1:]
    ratio = statistics.median(b / a for a, b in pairs)
    found = {
        "python_c_pass_s": round(statistics.median(a for a, _ in pairs), 4),
        "kvdocs_cost_s": round(statistics.median(b for _, b in pairs), 4),
        "ratio": round(ratio, 2),
        "rounds": ROUNDS,
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
