"""The command line: arguments in, an answer on standard output and an exit status out.

Status 0 is an answer, 1 a check that failed or something that does not fit, 2 bad input. Errors
are one paragraph on standard error. Each command imports only what it needs, when it runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from importlib import import_module

from kvdocs import __version__
from kvdocs.put_off import put_off

put_off("inspect")  # dataclasses imports it and hardly ever uses it

from kvdocs.engines import ENGINES  # noqa: E402
from kvdocs.options import whole  # noqa: E402
from kvdocs.startup import dataclass  # noqa: E402

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn


def command() -> int:
    """The entry point: ``main``, and hardly a search for garbage: an answer leaves little."""
    gc.set_threshold(100_000)
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
    given = sys.argv[1:] if argv is None else list(argv)
    args = _parser(given[:1]).parse_args(given)
    try:
        status: int = import_module(f"kvdocs.{COMMANDS[args.command].module}").run(args)
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


_TOKEN = re.compile(r"\b(hf_|sk-)[\w-]{16,}")  # of the Hub, of an API


def _complain(text: str) -> None:
    """Say it on standard error; a token pasted in the place of a name is not shown."""
    if sys.stderr is not None:
        print(_TOKEN.sub(r"\1…", text), file=sys.stderr)


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


def _parser(named: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that is ``named``, or of all where none is."""
    parser = _Command(
        prog="kvdocs", description="How much memory a language model's KV cache takes, exactly."
    )
    parser.add_argument("--version", action="version", version=f"kvdocs {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="kvdocs", parser_class=_Command
    )
    for name in [name for name in named if name in COMMANDS] or COMMANDS:
        command = COMMANDS[name]
        command.add(commands.add_parser(name, help=command.help))
    return parser


def _whole(name: str) -> Callable[[str], int]:
    """How an argument is read that is a whole number."""

    def read(text: str) -> int:
        try:
            return whole(name, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


_tokens, _count, _ranks, _jobs = map(_whole, ("tokens", "users", "tp", "jobs"))


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a Hub id, a path to a config.json or a layout.toml, or - for standard input",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def _add_cost(cost: argparse.ArgumentParser) -> None:
    _add_model(cost)
    cost.add_argument("--tokens", type=_tokens, default=4096, help="sequence length (4096)")
    cost.add_argument(
        "--kv-dtype", help="cache dtype: fp8, float32 … (what the config names, else bfloat16)"
    )
    cost.add_argument(
        "--encoder-tokens", type=_tokens, help="length of the encoder's output (T5, BART, Mllama)"
    )
    cost.add_argument("--engine", choices=ENGINES, help="also what this engine's own cache takes")


def _add_fit(fit: argparse.ArgumentParser) -> None:
    _add_model(fit)
    card = fit.add_mutually_exclusive_group()
    card.add_argument("--gpu", metavar="NAME", help="the card, such as 4090, l4 or h100")
    card.add_argument("--vram", metavar="SIZE", help="or its memory, such as 24564MiB")
    fit.add_argument("--tokens", type=_tokens, metavar="N", help="length of each sequence")
    fit.add_argument("--users", type=_count, metavar="N", help="sequences at once")
    fit.add_argument("--engine", choices=ENGINES, default="vllm", help="which engine (vllm)")
    fit.add_argument(
        "--kv-dtype",
        default="auto",
        help="cache dtype, in the engine's words (auto); llama.cpp also takes K,V: q8_0,q4_0",
    )
    weights = fit.add_mutually_exclusive_group()
    weights.add_argument("--weights-dtype", metavar="DTYPE", help="bf16, fp8, int4, q8_0 …")
    weights.add_argument("--weights", metavar="SIZE", help="or the size of all weights")
    fit.add_argument(
        "--overhead", metavar="SIZE", help="working memory; only for vLLM there is a cited range"
    )
    fit.add_argument(
        "--available",
        metavar="SIZE",
        help='what is left for the cache, vLLM\'s "Available KV cache memory"; then exact',
    )
    vllm = fit.add_argument_group("vLLM only")
    vllm.add_argument("--tp", type=_ranks, metavar="N", help="tensor-parallel ranks (1)")
    vllm.add_argument("--pp", type=_ranks, metavar="N", help="pipeline stages (1)")
    vllm.add_argument(
        "--utilization", metavar="SHARE", help="share of the card the engine may use, such as 0.9"
    )
    vllm.add_argument(
        "--max-num-batched-tokens",
        type=_count,
        metavar="N",
        help="tokens of one step (vLLM's default for the card, else 2048)",
    )
    llama = fit.add_argument_group("llama.cpp only, where --users is -np")
    llama.add_argument(
        "--kv-unified", action="store_true", default=None, help="all sequences share the cells"
    )
    llama.add_argument(
        "--ubatch-size", type=_count, metavar="N", help="tokens computed at once (512)"
    )


def _add_workload(workload: argparse.ArgumentParser) -> None:
    workload.add_argument(
        "file", metavar="FILE", help="one request a line, or - for standard input"
    )
    workload.add_argument("--model", help="a Hub id or a path to a config.json")
    workload.add_argument("--gpu", metavar="NAME", help="the card, such as 4090, l4 or h100")
    pool = workload.add_mutually_exclusive_group()
    pool.add_argument(
        "--available", metavar="SIZE", help="memory for the cache, if not what the card leaves"
    )
    pool.add_argument("--pool-tokens", type=_tokens, metavar="N", help="or its size in tokens")
    workload.add_argument("--weights", metavar="SIZE", help="size of all weights")
    workload.add_argument("--kv-dtype", help="cache dtype, in vLLM's words (auto)")
    workload.add_argument("--tp", type=_ranks, metavar="N", help="tensor-parallel ranks (1)")
    workload.add_argument("--pp", type=_ranks, metavar="N", help="pipeline stages (1)")
    workload.add_argument(
        "--utilization", metavar="SHARE", help="share of the card the engine may use, such as 0.9"
    )
    workload.add_argument(
        "--max-num-batched-tokens", type=_count, metavar="N", help="tokens of one step"
    )
    workload.add_argument("--max-model-len", type=_tokens, metavar="N", help="limit of the server")
    workload.add_argument("--risk", default="1%", help="of outgrowing the pool (1%%)")
    workload.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json, to count messages")
    workload.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("file", metavar="FILE", help="a log, or - for standard input")
    explain.add_argument("--model", help="Hub id or config.json, if the log does not name it")
    explain.add_argument("--tp", type=_ranks, help="tensor-parallel GPUs, if the log does not say")
    explain.add_argument("--kv-dtype", help="cache dtype, if the log does not say: fp8, q8_0 …")
    explain.add_argument("--gpu", metavar="NAME", help="the card, which vLLM's plan depends on")
    explain.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _add_measure(measure: argparse.ArgumentParser) -> None:
    _add_model(measure)
    measure.add_argument("--tokens", type=_tokens, default=64, help="prompt length (64)")
    measure.add_argument("--device", choices=("meta", "cpu", "cuda"), default="meta")


def _add_numbers(numbers: argparse.ArgumentParser) -> None:
    numbers.add_argument("action", choices=("check", "fix"))
    numbers.add_argument("paths", nargs="*", default=["docs"], help="pages or folders (docs)")


def _add_evidence(evidence: argparse.ArgumentParser) -> None:
    actions = ("explain", "check", "update")
    evidence.add_argument(
        "action", nargs="?", choices=actions, help="one record; without: list all"
    )
    evidence.add_argument("name", nargs="?", metavar="NAME", help="caches, sweep, vllm …")
    sweep = evidence.add_argument_group("sweep only")
    sweep.add_argument("--jobs", type=_jobs, help="processes at once (2)")
    sweep.add_argument(
        "--only", nargs="+", metavar="CLASS", help="check only these model_types or classes"
    )


def _add_snapshot(snapshot: argparse.ArgumentParser) -> None:
    snapshot.add_argument("action", choices=("check", "update"))
    snapshot.add_argument("models", nargs="*", metavar="MODEL", help="Hub ids (default: all)")


@dataclass(frozen=True)
class Command:
    """A command: its line of help, its arguments, the module whose ``run`` answers."""

    help: str
    add: Callable[[argparse.ArgumentParser], None]
    module: str


COMMANDS = {
    "cost": Command("bytes one sequence's cache takes, with the derivation", _add_cost, "cost"),
    "fit": Command("how many sequences fit on a GPU, term by term", _add_fit, "fit.command"),
    "workload": Command(
        "a log of requests: lengths, and how many fit", _add_workload, "workload.command"
    ),
    "explain": Command(
        "what an engine's log, error or metrics mean", _add_explain, "explain.command"
    ),
    "measure": Command(
        "hold the formula against a real cache", _add_measure, "evidence.transformers.measure"
    ),
    "numbers": Command(
        "check or fix every number stated in the pages", _add_numbers, "site.numbers"
    ),
    "evidence": Command(
        "the records of what real code did: list, check, update", _add_evidence, "evidence.record"
    ),
    "snapshot": Command(
        "the embedded configs against the live Hub", _add_snapshot, "facts.refresh"
    ),
}
