"""What can go wrong with the Hub: each fault, and words of the sentence that must say so.

In: nothing. Out: functions that take a request of a ``FakeHub`` over, and ``FAULTS``, which names
every case that a single look-up, ``auto`` and the whole catalogue are held against.
"""

import gzip
from collections.abc import Callable

from tests.facts.hub_server import Fault, Handler, git_sha1

FIFTY_MB = 50_000_000


def on(part: str, fault: Fault) -> Fault:
    """``fault``, for the requests whose path contains ``part``."""
    return lambda handler: part in handler.path and fault(handler)


def status(code: int, body: bytes = b'{"error":"no"}', **headers: str) -> Fault:
    """Answer with ``code``; ``Retry_After`` stands for Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _then(lambda handler: handler.answer(code, named, body))


def web_page() -> Fault:
    """A captive portal: everything is fine, and it is HTML."""
    page = b"<!DOCTYPE html><html><body>Please log in to the hotel's network</body></html>"
    return _then(lambda handler: handler.answer(200, {"Content-Type": "text/html"}, page))


def stall() -> Fault:
    """Take the request and say nothing."""
    return _then(lambda handler: handler.server.stopping.wait())


def stall_in_body() -> Fault:
    """Send the headers and the first bytes, then nothing."""

    def answer(handler: Handler) -> None:
        handler.start(200, {"Content-Length": "1000"})
        handler.write(b'{"model_type":')
        handler.server.stopping.wait()

    return _then(answer)


def trickle() -> Fault:
    """A byte now and then, often enough to satisfy any timeout between two reads."""

    def answer(handler: Handler) -> None:
        handler.start(200, {"Content-Length": "1000000"})
        while not handler.server.stopping.wait(0.05):
            handler.write(b" ")

    return _then(answer)


def trickle_headers() -> Fault:
    """Headers that never end, a byte now and then."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not handler.server.stopping.wait(0.05):
            handler.write(b"a")

    return _then(answer)


def compressed(data: bytes) -> Fault:
    """What a cache in front of the Hub may do: gzip, and an ETag marked as weak."""
    headers = {"Content-Encoding": "gzip", "ETag": f'W/"{git_sha1(data)}"'}
    return _then(lambda handler: handler.answer(200, headers, gzip.compress(data)))


def truncated() -> Fault:
    """Promise more bytes than are sent, then hang up."""

    def answer(handler: Handler) -> None:
        handler.start(200, {"Content-Length": "1000"})
        handler.write(b'{"model_type": "qwen2"}')
        handler.close_connection = True

    return _then(answer)


def fifty_megabytes() -> Fault:
    """A "config" of 50 MB that does not say so."""

    def answer(handler: Handler) -> None:
        handler.close_connection = True
        handler.start(200, {"Connection": "close"})
        for _ in range(FIFTY_MB // 100_000):
            handler.write(b" " * 100_000)

    return _then(answer)


def claims_fifty_megabytes() -> Fault:
    """Says so, and then sends nothing: only who reads the headers is not late."""

    def answer(handler: Handler) -> None:
        handler.start(200, {"Content-Length": str(FIFTY_MB)})
        handler.server.stopping.wait()

    return _then(answer)


def wrong_hash(data: bytes = b'{"model_type": "qwen2", "num_hidden_layers": 1}') -> Fault:
    """Good JSON that is not what the ETag says."""
    headers = {"ETag": f'"{git_sha1(b"{}")}"'}
    return _then(lambda handler: handler.answer(200, headers, data))


def _then(answer: Callable[[Handler], object]) -> Fault:
    def fault(handler: Handler) -> bool:
        answer(handler)
        return True

    return fault


GATED = {"X_Error_Code": "GatedRepo", "X_Error_Message": "Access to this model is restricted"}

# What can go wrong with one model, and words of the sentence that must say so.
LATE = "did not answer within"
LOST = "connection to the Hub failed"
FAULTS: dict[str, tuple[Fault, str]] = {
    "gated, no token": (on("/resolve/", status(401, **GATED)), "gated (401)"),
    "gated, wrong account": (on("/resolve/", status(403, **GATED)), "gated (403)"),
    "private or removed": (status(401, X_Error_Message="Invalid username or password."), "(401)"),
    "forbidden": (status(403), "(403)"),
    "removed": (status(404, X_Error_Code="RepoNotFound"), "no model page for it (404)"),
    "no config": (on("/resolve/", status(404, X_Error_Code="EntryNotFound")), "no config.json"),
    "rate limit, long": (status(429, Retry_After="3600"), "asked too often (429)"),
    "rate limit, a date": (status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), "(429)"),
    "rate limit, new header": (status(429, RateLimit='"api";r=0;t=290'), "asked too often (429)"),
    "rate limit on the file": (on("/resolve/", status(429, Retry_After="60")), "(429)"),
    "server error": (status(500), "the Hub failed (500)"),
    "server error on the file": (on("/resolve/", status(502)), "the Hub failed (502)"),
    "maintenance": (status(503, b"<html>back soon</html>", Retry_After="600"), "failed (503)"),
    "stalled": (stall(), LATE),
    "stalled file": (on("/resolve/", stall()), LATE),
    "stalled body": (on("/resolve/", stall_in_body()), LATE),
    "trickling": (on("/resolve/", trickle()), LATE),
    "trickling headers": (trickle_headers(), LATE),
    "truncated": (on("/resolve/", truncated()), LOST),
    "truncated answer": (on("/api/", truncated()), LOST),
    "HTML for the model": (on("/api/", web_page()), "a web page came back"),
    "HTML for the config": (on("/resolve/", web_page()), "a web page came back"),
    "not JSON": (on("/resolve/", status(200, b"model_type: qwen2")), "is not JSON"),
    "a list": (on("/resolve/", status(200, b"[]")), "holds [], not a JSON object"),
    "not text": (on("/resolve/", status(200, b"\xff\xfe\x00")), "not UTF-8"),
    "deep nesting": (on("/resolve/", status(200, b"[" * 200_000)), "not usable JSON"),
    "50 MB config": (on("/resolve/", fifty_megabytes()), "larger than 5,000,000 bytes"),
    "50 MB claimed": (on("/resolve/", claims_fifty_megabytes()), "larger than 5,000,000 bytes"),
    "50 MB answer": (on("/api/", claims_fifty_megabytes()), "larger than 20,000,000 bytes"),
    "wrong hash": (on("/resolve/", wrong_hash()), "does not have the hash"),
    "no commit": (on("/api/", status(200, b'{"id": "a/b"}')), "names no commit"),
    "odd id": (on("/api/", status(200, b'{"id": "../x", "sha": "0"}')), "names no commit"),
    "odd list": (
        on("/api/", status(200, b'{"id": "a/b", "sha": "%s", "siblings": 3}' % (b"0" * 40))),
        "no config.json for it (404)",
    ),
    "redirect loop": (status(307, Location="/api/models/again"), LOST),
}


def patience(words: str) -> float:
    """Seconds for a test: few where the deadline must strike, many where it must not."""
    return 0.4 if words == LATE else 20.0
