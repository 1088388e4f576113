"""A log of requests, one a line: how many tokens each prompt and each answer had.

In: lines of JSON, or of an access log with ``key=value`` pairs. Out: a ``Request`` for each line,
or the reason why a line says none. A line is read, counted and forgotten; no text is kept.

Where a line states counts they are taken. Where it holds messages instead, a tokenizer counts
their text; what a chat template adds around it is not in the file and not counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from kvdocs.facts.hub import standard_input

LONGEST = 100_000_000  # tokens; a count above it is a mistake, not a request
LONGEST_LINE = 1 << 24  # bytes; a longer line is refused, so that memory stays bounded

PAIRS = (
    ("prompt_tokens", "completion_tokens"),  # OpenAI's chat and completions API; vLLM's server
    ("input_tokens", "output_tokens"),  # OpenAI's Responses API, Anthropic, OpenTelemetry
    ("input_length", "output_length"),  # the published Mooncake traces
    ("num_prompt_tokens", "num_generation_tokens"),  # vLLM's statistics of finished requests
)
# Anthropic reports prompt tokens that its cache served or stored apart from input_tokens; they
# take room in a KV cache like all others.
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Where an object may hold the counts: itself, an API's answer, a line of OpenAI's batch output.
PLACES = ((), ("usage",), ("response", "usage"), ("response", "body", "usage"))

_PAIR_IN_TEXT = re.compile(rb"([A-Za-z_][\w.]*)[\"']?\s*[=:]\s*[\"']?(\d+)(?![\w.])")
_CALL = re.compile(rb'"[A-Z]+ \S+ HTTP/[\d.]+"')

Count = Callable[[str], int]


@dataclass(frozen=True)
class Request:
    """One request: tokens of its prompt (at least 1) and of its answer (0 where it gave none)."""

    prompt: int
    output: int


class BadLine(ValueError):
    """A line without a request; the message is the reason."""


def opened(path: str) -> BinaryIO:
    """The file of a log, or standard input for ``-``.

    Raises:
        ValueError: it cannot be read.
    """
    if path == "-":
        return standard_input("a log of requests")
    try:
        return open(path, "rb")
    except OSError as error:
        raise ValueError(
            f"{path}: {error.strerror}. Name a file, or - for standard input"
        ) from None


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of a line longer than ``LONGEST_LINE`` only the beginning."""
    while line := file.readline(LONGEST_LINE + 1):
        yield line
        while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE + 1)


def read_line(line: bytes, count: Count | None = None) -> Request:
    """The request of one line; ``count`` gives the tokens of a text, None where there is none.

    Raises:
        BadLine: the line holds no request.

    >>> read_line(b'{"usage": {"prompt_tokens": 512, "completion_tokens": 64}}')
    Request(prompt=512, output=64)
    >>> read_line(b'"POST /v1/completions HTTP/1.1" 200 prompt_tokens=512 completion_tokens=64')
    Request(prompt=512, output=64)
    """
    if len(line) > LONGEST_LINE:
        raise BadLine(f"longer than {LONGEST_LINE:,} bytes")
    text = line.strip()
    if text.startswith((b"{", b"[")):
        return _of_json(text, count)
    pairs = {key.decode(): int(value[:20]) for key, value in _PAIR_IN_TEXT.findall(text)}
    if found := _stated(pairs):
        return found
    if _CALL.search(text):
        raise BadLine("an access log without token counts; log prompt_tokens= completion_tokens=")
    raise BadLine("neither a JSON object nor text with token counts")


def _of_json(text: bytes, count: Count | None) -> Request:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLine("not JSON" if text.startswith(b"[") else _json_reason(error)) from None
    if not isinstance(record, dict):
        raise BadLine("JSON, but not an object")
    for place in PLACES:
        if found := _stated(_at(record, place)):
            return found
    prompt, answer = _texts(record)
    if prompt is None or answer is None:
        raise BadLine("no token counts" if prompt is None else "messages, but no answer")
    if count is None:
        raise BadLine("text without token counts; name a tokenizer")
    return _request(count(prompt), count(answer))


def _json_reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not JSON"


def _at(record: Mapping[str, Any], place: tuple[str, ...]) -> Mapping[str, Any]:
    found: Any = record
    for key in place:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _stated(record: Mapping[str, Any]) -> Request | None:
    """The request whose counts a record states; None where it states none."""
    record = {key.rpartition(".")[2]: value for key, value in record.items()}  # gen_ai.usage.…
    for prompt, output in PAIRS:
        if prompt in record and output in record:
            cached = sum(_whole(key, record[key]) for key in CACHED if record.get(key))
            tokens = _whole(prompt, record[prompt]) + cached
            return _request(tokens, _whole(output, record[output]))
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            if one in record:
                raise BadLine(f"{one} without {other}")
    return None


def _whole(key: str, value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadLine(f"{key} is not a whole number of tokens")
    return value


def _request(prompt: int, output: int) -> Request:
    if prompt == 0:
        raise BadLine("a prompt of 0 tokens")
    if prompt + output > LONGEST:
        raise BadLine(f"more than {LONGEST:,} tokens")
    return Request(prompt, output)


def _texts(record: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The text of the prompt and of the answer.

    The answer is the last message if the assistant wrote it, else what the server returned.
    """
    messages = record.get("messages", _at(record, ("request",)).get("messages"))
    if not isinstance(messages, list):
        return _text(record.get("prompt")), _text(record.get("completion")) or _returned(record)
    contents = [_content(message) for message in messages]
    last = messages[-1] if messages else None
    if isinstance(last, dict) and last.get("role") == "assistant":
        return "\n".join(contents[:-1]), contents[-1]
    return "\n".join(contents) if contents else None, _returned(record)


def _returned(record: Mapping[str, Any]) -> str | None:
    """The text of the first choice of an API's answer."""
    for place in ((), ("response",), ("response", "body")):
        choices = _at(record, place).get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return _text(choices[0].get("text")) or _content(choices[0].get("message"))
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _content(message: Any) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def tokenizer(path: str) -> Count:
    """A function that counts the tokens of a text with a local ``tokenizer.json``.

    Raises:
        ValueError: the package ``tokenizers`` is not installed, or the file is no tokenizer.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ValueError(
            f"{path}: counting text takes the package tokenizers. Install it, or give a log with "
            "token counts"
        ) from None
    try:
        found = Tokenizer.from_file(path)
    except Exception as error:  # the package raises a bare Exception for every kind of bad file
        raise ValueError(f"{path}: not a tokenizer.json ({error}). Name a local file") from None
    return lambda text: len(found.encode(text, add_special_tokens=False).ids)
