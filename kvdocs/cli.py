"""The command line: arguments in, an answer on standard output and an exit status out.

Status 0 is an answer, 1 a check that failed or something that does not fit, 2 bad input. Errors
are one paragraph on standard error. Each command imports only what it needs, when it runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from kvdocs import __version__
from kvdocs.startup import put_off

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any, NoReturn


put_off("inspect")  # dataclasses imports it and hardly ever uses it


def command() -> int:
    """The entry point: ``main``, and no search for garbage while Python shuts down."""
    if sys.stdout is None:  # closed by the caller, as in `kvdocs … >&-`
        _complain("kvdocs: there is no standard output to answer on")
        return 2
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # × where the terminal has only ASCII
    status = main()
    gc.freeze()
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except ValueError as error:  # ConfigError, LookupFailed: what was wrong and what to do next
        _complain(f"kvdocs {args.command}: {error}")
        return 2
    except BrokenPipeError:  # the reader of our output has gone, e.g. `kvdocs … | head`
        _discard_output()
        return 0
    except OSError as error:  # a full disk behind `kvdocs … > file`
        _complain(f"kvdocs {args.command}: the answer could not be written: {error.strerror}")
        _discard_output()
        return 2


def _complain(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr)


def _discard_output() -> None:
    """Let nothing that is still in a buffer raise again while Python shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Help(argparse.HelpFormatter):
    """Help of a fixed width: asking for the terminal's takes longer than answering."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=88)


class _Command(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Help, **options)

    def error(self, message: str) -> NoReturn:
        _complain(f"{self.prog}: {message}. See {self.prog} --help")
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Command(
        prog="kvdocs", description="How much memory a language model's KV cache takes, exactly."
    )
    parser.add_argument("--version", action="version", version=f"kvdocs {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="kvdocs", parser_class=_Command
    )

    cost = commands.add_parser("cost", help="bytes one sequence's cache takes, with the derivation")
    _add_model(cost)
    cost.add_argument("--tokens", type=_tokens, default=4096, help="sequence length (4096)")
    cost.add_argument(
        "--kv-dtype", help="cache dtype: fp8, float32 … (what the config names, else bfloat16)"
    )
    cost.add_argument(
        "--encoder-tokens", type=_tokens, help="length of the encoder's output (T5, BART, Mllama)"
    )
    cost.add_argument(
        "--engine", choices=("transformers",), help="also what this engine's own cache takes"
    )
    cost.set_defaults(run=_cost)

    workload = commands.add_parser("workload", help="a log of requests: lengths, and how many fit")
    workload.add_argument(
        "file", metavar="FILE", help="one request a line, or - for standard input"
    )
    workload.add_argument("--model", help="a Hub id or a path to a config.json")
    pool = workload.add_mutually_exclusive_group()
    pool.add_argument("--available", metavar="SIZE", help="memory for the cache, such as 10GiB")
    pool.add_argument("--pool-tokens", type=_tokens, metavar="N", help="cache size in tokens")
    workload.add_argument("--max-model-len", type=_tokens, metavar="N", help="limit of the server")
    workload.add_argument("--risk", type=_risk, default="1%", help="of outgrowing the pool (1%%)")
    workload.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json, to count messages")
    workload.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    workload.set_defaults(run=_workload)

    fit = commands.add_parser("fit", help="how many sequences fit on a GPU, term by term")
    _add_model(fit)
    _add_fit(fit)
    fit.set_defaults(run=_fit)

    explain = commands.add_parser("explain", help="what an engine's log, error or metrics mean")
    explain.add_argument("file", metavar="FILE", help="a log, or - for standard input")
    explain.add_argument("--model", help="Hub id or config.json, if the log does not name it")
    explain.add_argument("--tp", type=_ranks, help="tensor-parallel GPUs, if the log does not say")
    explain.add_argument("--kv-dtype", help="cache dtype, if the log does not say: fp8, q8_0 …")
    explain.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain.set_defaults(run=_explain)

    measure = commands.add_parser("measure", help="hold the formula against a real cache")
    _add_model(measure)
    measure.add_argument("--tokens", type=_tokens, default=64, help="prompt length (64)")
    measure.add_argument("--device", choices=("meta", "cpu", "cuda"), default="meta")
    measure.set_defaults(run=_measure)

    numbers = commands.add_parser("numbers", help="check or fix every number stated in the pages")
    numbers.add_argument("action", choices=("check", "fix"))
    numbers.add_argument("paths", nargs="*", default=["docs"], help="pages or folders (docs)")
    numbers.set_defaults(run=_numbers)

    defaults = commands.add_parser("defaults", help="class defaults against transformers")
    defaults.add_argument("action", choices=("check", "update"))
    defaults.set_defaults(run=_defaults)

    evidence = commands.add_parser("evidence", help="every architecture against the formula")
    evidence.add_argument("action", choices=("sweep",))
    evidence.add_argument("--jobs", type=_jobs, default=2, help="processes at once (2)")
    evidence.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="model_types or classes; prints JSON"
    )
    evidence.set_defaults(run=_evidence)

    snapshot = commands.add_parser("snapshot", help="the embedded configs against the live Hub")
    snapshot.add_argument("action", choices=("check", "update"))
    snapshot.add_argument("models", nargs="*", metavar="MODEL", help="Hub ids (default: all)")
    snapshot.set_defaults(run=_snapshot)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="a Hub id, a path to a config.json, or - for standard input"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def _add_fit(parser: argparse.ArgumentParser) -> None:
    card = parser.add_mutually_exclusive_group()
    card.add_argument("--gpu", metavar="NAME", help="the card, such as 4090, l4 or h100")
    card.add_argument("--vram", metavar="SIZE", help="or its memory, such as 24564MiB")
    parser.add_argument("--tokens", type=_tokens, metavar="N", help="length of each sequence")
    parser.add_argument("--users", type=_count, metavar="N", help="sequences at once")
    parser.add_argument("--kv-dtype", default="auto", help="cache dtype, in vLLM's words (auto)")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--weights-dtype", metavar="DTYPE", help="bf16, fp8, int8 or int4")
    weights.add_argument("--weights", metavar="SIZE", help="or the size of all weights")
    parser.add_argument("--tp", type=_count, default=1, metavar="N", help="tensor-parallel ranks")
    parser.add_argument("--pp", type=_count, default=1, metavar="N", help="pipeline stages")
    parser.add_argument("--engine", choices=("vllm",), default="vllm", help="vllm, as of 0.33.0")
    parser.add_argument("--utilization", default="0.92", help="share the engine may use (0.92)")
    parser.add_argument("--overhead", metavar="SIZE", help="working memory, not a cited range")
    parser.add_argument(
        "--available", metavar="SIZE", help='the engine\'s own "Available KV cache memory": exact'
    )
    parser.add_argument(
        "--max-num-batched-tokens", type=_count, default=2048, metavar="N", help="(2048)"
    )


def _count(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(digits)


def _tokens(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or len(digits) > 13 or not 1 <= int(digits) <= 10**12:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of tokens, such as 4096")
    return int(digits)


def _ranks(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of GPUs, such as 4")
    return int(text)


def _risk(text: str) -> Any:
    from fractions import Fraction

    number = text.removesuffix("%").strip()
    try:
        risk = Fraction(number) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        risk = Fraction(0)
    if not Fraction(1, 10**6) <= risk < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not from 0.0001% to below 100%")
    return risk


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes, such as 4")
    return int(text)


def _cost(args: argparse.Namespace) -> int:
    from kvdocs.cost import run

    return run(args)


def _workload(args: argparse.Namespace) -> int:
    from kvdocs.workload import run

    return run(args)


def _fit(args: argparse.Namespace) -> int:
    from kvdocs.fit import run

    return run(args)


def _explain(args: argparse.Namespace) -> int:
    from kvdocs.explain import run

    return run(args)


def _measure(args: argparse.Namespace) -> int:
    from kvdocs.evidence.measure import run

    return run(args)


def _numbers(args: argparse.Namespace) -> int:
    from kvdocs.site.numbers import run

    return run(args)


def _defaults(args: argparse.Namespace) -> int:
    from kvdocs.evidence.defaults import run

    return run(args)


def _evidence(args: argparse.Namespace) -> int:
    from kvdocs.evidence.sweep import run

    return run(args)


def _snapshot(args: argparse.Namespace) -> int:
    from kvdocs.facts.refresh import run

    return run(args)
