"""Lines as logs have them: counts in every published place, messages, access logs, rubbish."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdocs.workload.request_log import LONGEST_LINE, BadLine, Request, lines, read_line, tokenizer

USAGE = {"prompt_tokens": 512, "completion_tokens": 64, "total_tokens": 576}


@pytest.mark.parametrize(
    "record",
    [
        USAGE,
        {"id": "chatcmpl-1", "usage": USAGE},
        {"response": {"usage": USAGE}},
        {"custom_id": "a", "response": {"status_code": 200, "body": {"usage": USAGE}}},
        {"type": "message", "usage": {"input_tokens": 512, "output_tokens": 64}},
        {
            "usage": {
                "input_tokens": 12,
                "cache_read_input_tokens": 400,
                "cache_creation_input_tokens": 100,
                "output_tokens": 64,
            }
        },
        {"usage": {"input_tokens": 512, "cache_read_input_tokens": None, "output_tokens": 64}},
        {"gen_ai.usage.input_tokens": 512, "gen_ai.usage.output_tokens": 64},
        {"timestamp": 0, "input_length": 512, "output_length": 64, "hash_ids": [1, 2]},
        {"prompt_tokens": "512", "completion_tokens": 64.0},
        {"messages": [{"role": "user", "content": "hello"}], "usage": USAGE},
    ],
)
def test_counts_are_found_where_apis_and_traces_put_them(record):
    assert read_line(json.dumps(record).encode()) == Request(512, 64)


@pytest.mark.parametrize(
    "line",
    [
        b'10.0.0.1 - - [29/Nov/2026:12:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 200 1234 '
        b"prompt_tokens=512 completion_tokens=64 rt=1.25",
        b"level=info msg=done prompt_tokens=512 completion_tokens=64",
        b'ts=1 prompt_tokens="512" completion_tokens="64"',
        b"INFO prompt_tokens: 512, completion_tokens: 64",
    ],
)
def test_counts_are_found_in_an_access_log(line):
    assert read_line(line) == Request(512, 64)


def words(text):
    return len(text.split())


@pytest.mark.parametrize(
    ("record", "request_"),
    [
        (
            {
                "messages": [
                    {"role": "system", "content": "be kind"},
                    {"role": "user", "content": "how are you"},
                    {"role": "assistant", "content": "well thank you very much"},
                ]
            },
            Request(5, 5),
        ),
        (
            {
                "messages": [{"role": "user", "content": [{"type": "text", "text": "one two"}]}],
                "response": {"choices": [{"message": {"role": "assistant", "content": "three"}}]},
            },
            Request(2, 1),
        ),
        ({"prompt": "one two three", "completion": "four"}, Request(3, 1)),
        ({"prompt": "one two three", "choices": [{"text": "four five"}]}, Request(3, 2)),
    ],
)
def test_messages_are_counted_with_a_tokenizer_and_refused_without(record, request_):
    line = json.dumps(record).encode()
    assert read_line(line, words) == request_
    with pytest.raises(BadLine, match="name a tokenizer"):
        read_line(line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "not JSON"),
        (b"{} {}", "not JSON: Extra data"),
        (b"[1, 2]", "not an object"),
        (b"{}", "no token counts"),
        (b'{"usage": null}', "no token counts"),
        (b'{"prompt_tokens": 5}', "prompt_tokens without completion_tokens"),
        (b'{"output_tokens": 5}', "output_tokens without input_tokens"),
        (b'{"prompt_tokens": -5, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": 1.5, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": NaN, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": Infinity, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": true, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": [5], "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": null, "completion_tokens": 1}', "whole number"),
        (b'{"prompt_tokens": 0, "completion_tokens": 1}', "a prompt of 0 tokens"),
        (b'{"prompt_tokens": 9999999999, "completion_tokens": 1}', "more than 100,000,000"),
        (b'{"messages": []}', "no token counts"),
        (b'{"messages": [{"role": "user", "content": "hi"}]}', "no answer"),
        (b'"GET /health HTTP/1.1" 200', "an access log without token counts"),
        (b"prompt_tokens=12", "prompt_tokens without completion_tokens"),
        (b"\xff\xfe\x00\x01", "neither a JSON object nor text"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b"x" * (LONGEST_LINE + 1), "longer than 16,777,216 bytes"),
    ],
)
def test_a_line_without_a_request_says_why(line, says):
    with pytest.raises(BadLine, match=says):
        read_line(line, words)


def reason(line):
    """Why a line holds no request; empty where it holds one."""
    try:
        return "" if read_line(line, words).prompt > 0 else None
    except BadLine as error:
        return str(error) or None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_bad_line(line):
    assert reason(line) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["usage", "messages", "prompt", "choices", "response", "prompt_tokens"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_request_or_a_bad_line(value):
    assert reason(json.dumps(value).encode()) is not None


def test_of_a_line_without_end_only_the_beginning_is_kept():
    file = io.BytesIO(b"a\n" + b"x" * (3 * LONGEST_LINE) + b"\nb\n")
    found = list(lines(file))
    assert [len(line) for line in found] == [2, LONGEST_LINE + 1, 2]
    assert found[2] == b"b\n"


def test_a_real_tokenizer_counts(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    model = tokenizers.models.WordLevel({"one": 0, "two": 1, "?": 2}, unk_token="?")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    count = tokenizer(str(tmp_path / "tokenizer.json"))
    assert count("one two three") == 3
    assert read_line(b'{"prompt": "one two", "completion": "one"}', count) == Request(2, 1)


@pytest.mark.parametrize("content", [None, "", "{}", "nonsense"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, content):
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"not a tokenizer\.json"):
        tokenizer(str(path))
