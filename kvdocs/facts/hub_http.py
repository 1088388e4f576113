"""One request to the Hub, through huggingface_hub's own session, with limits on time and size.

In: an address, the most bytes an answer may have, a ``Deadline``. Out: the answer's bytes, checked
against the hash the Hub states; or ``Trouble``, which says in a sentence what went wrong.

The session brings the client's proxies, certificates, offline switch and token. Its higher
functions are not used: they take any amount of data, retry beyond a deadline, and write to the
disk. No message of the client is passed on, since it could name the token.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

from kvdocs import __version__
from kvdocs.startup import dataclass

LATER = "Try again later, or set KVDOCS_HUB=snapshot to do without the Hub"


@dataclass(frozen=True)
class Deadline:
    """The moment after which no answer of the Hub counts."""

    seconds: float
    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The one that many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds until then; never negative."""
        return max(0.0, self.end - time.monotonic())

    def missed(self) -> Trouble:
        """What to say of an answer that came too late, or not at all."""
        reason = f"the Hub did not answer within {self.seconds:g} seconds"
        return Trouble(reason, LATER, reached=False)


class Trouble(Exception):
    """What went wrong with one request, in our own words: the client's could name a token.

    ``reached`` is False where nobody answered, ``absent`` True where there is no such file.
    """

    def __init__(
        self, reason: str, remedy: str = LATER, reached: bool = True, absent: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.reached, self.absent = reason, remedy, reached, absent


def get(url: str, what: str, limit: int, deadline: Deadline, start_only: bool = False) -> bytes:
    """The body at ``url``: all of it, at most ``limit`` bytes, or with ``start_only`` the first.

    Where the Hub says how long to wait, and there is that much time, it is asked again.

    Raises:
        Trouble: whatever goes wrong; ``what`` names the thing in its sentence.
    """
    try:
        return _get(url, what, limit, deadline, start_only)
    except Trouble:
        raise
    except Exception as error:  # the classes differ between releases of the client
        raise _explain(error, deadline) from None


def _get(url: str, what: str, limit: int, deadline: Deadline, start_only: bool) -> bytes:
    span = {"Range": f"bytes=0-{limit - 1}"} if start_only else {}
    while True:
        with _open(url, span, deadline) as response:
            if response.status_code < 400:
                return _body(response, what, limit, deadline, start_only)
            wait = _stated_wait(response)
            if wait is None or wait >= deadline.left():
                raise _refusal(response, what, wait)
        time.sleep(wait)


def _open(url: str, headers: dict[str, str], deadline: Deadline) -> Any:
    from huggingface_hub.utils import get_session

    if not deadline.left():
        raise TimeoutError
    token = _token()
    headers = headers | {"User-Agent": f"kvdocs/{__version__}", "Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    session = get_session()
    if callable(session.stream):  # huggingface_hub 1 and newer: httpx
        return session.stream(
            "GET", url, headers=headers, timeout=deadline.left(), follow_redirects=True
        )
    return session.get(url, headers=headers, timeout=deadline.left(), stream=True)  # requests


# Where huggingface_hub 2.4.0 finds a token, beside its file (utils/_auth.py:81-86).
_TOKENS = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE", "COLAB_RELEASE_TAG"}


def _token() -> str | None:
    """The client's token. It is asked where one can be: its module loads slower than all else."""
    from huggingface_hub import constants

    known = not _TOKENS.isdisjoint(os.environ) or os.path.exists(constants.HF_TOKEN_PATH)
    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN or not known:
        return None
    from huggingface_hub import get_token

    token: str | None = get_token()
    return token


def _body(response: Any, what: str, limit: int, deadline: Deadline, start_only: bool) -> bytes:
    if not start_only and _stated_size(response) > limit:
        raise _too_large(what, limit)
    data = bytearray()
    for chunk in _chunks(response):
        data += chunk
        if not deadline.left():
            raise TimeoutError
        if len(data) > limit:
            break
    if start_only:
        return bytes(data[:limit])
    if len(data) > limit:
        raise _too_large(what, limit)
    _check_hash(bytes(data), what, response)
    return bytes(data)


def _chunks(response: Any) -> Iterable[bytes]:
    chunks: Iterable[bytes] = (
        response.iter_bytes() if hasattr(response, "iter_bytes") else response.iter_content(65536)
    )
    return chunks


def _linked(response: Any, name: str) -> str:
    """A header about a large file, which stands on the redirect to where it is stored."""
    hops = (*response.history, response)
    return next((hop.headers[name] for hop in hops if name in hop.headers), "")


def _stated_size(response: Any) -> int:
    size = _linked(response, "X-Linked-Size") or response.headers.get("Content-Length", "")
    return int(size) if size.isdecimal() else 0


def _check_hash(data: bytes, what: str, response: Any) -> None:
    """The Hub's ETag is the git blob's SHA-1, or the SHA-256 of a large file."""
    etag = _linked(response, "X-Linked-Etag") or response.headers.get("ETag", "")
    stated = etag.removeprefix("W/").strip('"')
    if re.fullmatch("[0-9a-f]{40}", stated):
        blob = b"blob %d\0" % len(data) + data
        found = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    elif re.fullmatch("[0-9a-f]{64}", stated):
        found = hashlib.sha256(data).hexdigest()
    else:
        return
    if found != stated:
        raise Trouble(f"the {what} that came does not have the hash that the Hub states for it")


def _too_large(what: str, limit: int) -> Trouble:
    return Trouble(f"its {what} is larger than {limit:,} bytes, too large to be one")


def _stated_wait(response: Any) -> float | None:
    """The seconds the Hub asks us to wait, at least one; None where it does not say."""
    if response.status_code not in (429, 503):
        return None
    stated = response.headers.get("Retry-After", "").strip()
    if not stated.isdecimal():
        match = re.search(r";\s*t=(\d+)", response.headers.get("RateLimit", ""))
        stated = match[1] if match else ""
    return max(1.0, float(stated)) if stated else None


def _refusal(response: Any, what: str, wait: float | None) -> Trouble:
    status = response.status_code
    if status == 429:
        remedy = f"Wait {wait:g} seconds" if wait else "Wait some minutes"
        return Trouble("the Hub was asked too often (429)", f"{remedy}, or set HF_TOKEN")
    if response.headers.get("X-Error-Code") == "GatedRepo":
        remedy = "Accept its terms on the Hub, then set HF_TOKEN to a token of that account"
        return Trouble(f"the repository is gated ({status})", remedy)
    if status in (401, 403):
        remedy = (
            "Check the id; a private repository needs a token in HF_TOKEN that may read it, and "
            "an expired token is refused even for public ones"
        )
        return Trouble(f"the Hub shows no such model without the right token ({status})", remedy)
    if status == 404:
        remedy = "Check the id; the model may have been removed"
        return Trouble(f"the Hub has no {what} for it (404)", remedy, absent=True)
    return Trouble(f"the Hub failed ({status})")


def _explain(error: Exception, deadline: Deadline) -> Trouble:
    """Our sentence for an exception of the client, told apart by what is behind it."""
    causes = list(_causes(error))
    if not deadline.left() or any(isinstance(cause, TimeoutError) for cause in causes):
        return deadline.missed()
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        remedy = f"Check the network. {LATER}"
        return Trouble("the Hub's address could not be looked up", remedy, reached=False)
    if type(error).__name__ == "OfflineModeIsEnabled":
        return Trouble("HF_HUB_OFFLINE is set", "Unset it to ask the Hub")
    return Trouble(f"the connection to the Hub failed ({type(error).__name__})", reached=False)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
