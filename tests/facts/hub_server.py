"""A Hub on loopback: the routes, headers and failures of the real one, for the real client.

In: repositories and, where wanted, a ``Fault``. Out: an address for ``HF_ENDPOINT``, and a record
of what was asked. Routes: ``/api/models/ID`` and ``/ID/resolve/COMMIT/FILE``; small files come with
the git blob's SHA-1 as ETag, large ones by a redirect to ``/cdn/`` that states size and SHA-256.
"""

import gzip
import hashlib
import json
import re
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "c0ffee" * 6 + "c0de"
FIFTY_MB = 50_000_000


@dataclass
class Repo:
    """What a model's repository holds; ``info`` is merged into the answer about it."""

    files: dict[str, bytes]
    commit: str = COMMIT
    info: dict[str, Any] = field(default_factory=dict)
    large: frozenset[str] = frozenset()
    renamed_to: str = ""


@dataclass(frozen=True)
class Request:
    path: str
    host: str
    headers: dict[str, str]


class FakeHub(ThreadingHTTPServer):
    """Answers until it is stopped; ``fault`` may take a request over by returning True."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.requests: list[Request] = []
        self.sent = 0
        self.fault: Fault = lambda handler: False
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, model_id: str, config: Any, **info: Any) -> Repo:
        """A repository with this config.json and this answer about it."""
        data = config if isinstance(config, bytes) else json.dumps(config).encode()
        self.repos[model_id] = Repo({"config.json": data}, info=info)
        return self.repos[model_id]

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is what many of the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FakeHub

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").partition(":")[0]
        self.server.requests.append(Request(self.path, host, dict(self.headers)))
        if self.server.fault(self):
            return
        if match := re.fullmatch(r"/api/models/(.+)", self.path):
            self._about(match[1])
        elif match := re.fullmatch(r"/(.+)/resolve/([0-9a-f]{40})/(.+)", self.path):
            self._file(match[1], match[3], at=match[2])
        elif match := re.fullmatch(r"/cdn/(.+)/(.+)", self.path):
            self._bytes(self.server.repos[match[1]].files[match[2]])
        else:
            self.answer(404)

    def _about(self, model_id: str) -> None:
        repo = self.server.repos.get(model_id)
        if repo is None:
            self.answer(404, {"X-Error-Code": "RepoNotFound"}, b'{"error":"Repository not found"}')
        elif repo.renamed_to:
            self.answer(307, {"Location": f"/api/models/{repo.renamed_to}"})
        else:
            files = [{"rfilename": name} for name in repo.files]
            about = {"id": model_id, "sha": repo.commit, "siblings": files, **repo.info}
            self.answer(200, {"ETag": 'W/"30b-not-a-hash"'}, json.dumps(about).encode())

    def _file(self, model_id: str, name: str, at: str) -> None:
        repo = self.server.repos.get(model_id)
        if repo is None or at != repo.commit or name not in repo.files:
            self.answer(404, {"X-Error-Code": "EntryNotFound"})
        elif name in repo.large:
            data = repo.files[name]
            stated = {
                "X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"',
                "X-Linked-Size": str(len(data)),
                "Location": f"http://localhost:{self.server.server_port}/cdn/{model_id}/{name}",
            }
            self.answer(302, stated)
        else:
            self._bytes(repo.files[name], {"X-Repo-Commit": repo.commit}, git_hash=True)

    def _bytes(self, data: bytes, headers: dict[str, str] | None = None, git_hash=False) -> None:
        etag = git_sha1(data) if git_hash else hashlib.md5(data).hexdigest()
        headers = {"ETag": f'"{etag}"', "Accept-Ranges": "bytes", **(headers or {})}
        if match := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            first, last = int(match[1]), min(int(match[2]), len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            self.answer(206, headers, data[first : last + 1])
        else:
            self.answer(200, headers, data)

    def answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.start(status, {"Content-Length": str(len(body)), **(headers or {})})
        self.write(body)

    def start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.server.sent += len(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Fault = Callable[[_Handler], bool]


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def running_hub():
    """A ``FakeHub`` that answers inside the block."""
    server = FakeHub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def client_of(server_url: str, monkeypatch, home):
    """The real client asking ``server_url``, without the machine's token, proxies or cache."""
    import huggingface_hub.utils as client
    from huggingface_hub import constants

    forget = getattr(client, "close_session", None) or client.reset_sessions
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE", "KVDOCS_HUB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(constants, "ENDPOINT", server_url)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    forget()
    try:
        yield
    finally:
        forget()


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

    def answer(handler: _Handler) -> None:
        handler.start(200, {"Content-Length": "1000"})
        handler.write(b'{"model_type":')
        handler.server.stopping.wait()

    return _then(answer)


def trickle() -> Fault:
    """A byte now and then, often enough to satisfy any timeout between two reads."""

    def answer(handler: _Handler) -> None:
        handler.start(200, {"Content-Length": "1000000"})
        while not handler.server.stopping.wait(0.05):
            handler.write(b" ")

    return _then(answer)


def trickle_headers() -> Fault:
    """Headers that never end, a byte now and then."""

    def answer(handler: _Handler) -> None:
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

    def answer(handler: _Handler) -> None:
        handler.start(200, {"Content-Length": "1000"})
        handler.write(b'{"model_type": "qwen2"}')
        handler.close_connection = True

    return _then(answer)


def fifty_megabytes() -> Fault:
    """A "config" of 50 MB that does not say so."""

    def answer(handler: _Handler) -> None:
        handler.close_connection = True
        handler.start(200, {"Connection": "close"})
        for _ in range(FIFTY_MB // 100_000):
            handler.write(b" " * 100_000)

    return _then(answer)


def claims_fifty_megabytes() -> Fault:
    """Says so, and then sends nothing: only who reads the headers is not late."""

    def answer(handler: _Handler) -> None:
        handler.start(200, {"Content-Length": str(FIFTY_MB)})
        handler.server.stopping.wait()

    return _then(answer)


def wrong_hash(data: bytes = b'{"model_type": "qwen2", "num_hidden_layers": 1}') -> Fault:
    """Good JSON that is not what the ETag says."""
    headers = {"ETag": f'"{git_sha1(b"{}")}"'}
    return _then(lambda handler: handler.answer(200, headers, data))


def _then(answer: Callable[[_Handler], object]) -> Fault:
    def fault(handler: _Handler) -> bool:
        answer(handler)
        return True

    return fault


GATED = {"X_Error_Code": "GatedRepo", "X_Error_Message": "Access to this model is restricted"}

# What can go wrong with one model, and words of the sentence that must say so.
LATE = "did not answer within"
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
    "truncated": (on("/resolve/", truncated()), "connection to the Hub failed"),
    "truncated answer": (on("/api/", truncated()), "connection to the Hub failed"),
    "HTML for the model": (on("/api/", web_page()), "a web page came back"),
    "HTML for the config": (on("/resolve/", web_page()), "a web page came back"),
    "not JSON": (on("/resolve/", status(200, b"model_type: qwen2")), "is not JSON"),
    "a list": (on("/resolve/", status(200, b"[]")), "holds a JSON list, not an object"),
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
    "redirect loop": (status(307, Location="/api/models/again"), "connection to the Hub failed"),
}


def patience(words: str) -> float:
    """Seconds for a test: few where the deadline must strike, many where it must not."""
    return 0.4 if words == LATE else 20.0
