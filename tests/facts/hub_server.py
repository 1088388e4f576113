"""A Hub on loopback: the routes, headers and failures of the real one, for the real client.

In: repositories and, where wanted, a ``Fault``. Out: an address for ``HF_ENDPOINT``, and a record
of what was asked. Routes: ``/api/models/ID`` and ``/ID/resolve/COMMIT/FILE``; small files come with
the git blob's SHA-1 as ETag, large ones by a redirect to ``/cdn/`` that states size and SHA-256.
"""

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
        super().__init__(("127.0.0.1", 0), Handler)
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


class Handler(BaseHTTPRequestHandler):
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


Fault = Callable[[Handler], bool]


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
