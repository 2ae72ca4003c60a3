"""One question over HTTP with a limit on the whole of it, and a name for everything that can go wrong."""

import time
from typing import TYPE_CHECKING, Any

from kernel.errors import CollectionFailed

if TYPE_CHECKING:
    from requests import Session

MOST_BYTES = 256 * 1024 * 1024  # an answer beyond this is no answer


def session(*, username: str = "", password: str = "", ca_file: str = "") -> "Session":
    from requests import Session

    made = Session()
    made.trust_env = False  # neither a proxy nor somebody's netrc
    if username:
        made.auth = (username, password)
    if ca_file:
        made.verify = ca_file
    return made


def ask(session: "Session", address: str, *, timeout: float, json: Any = None) -> bytes:
    import requests

    deadline = time.monotonic() + timeout
    method = "GET" if json is None else "POST"
    try:
        with session.request(method, address, json=json, timeout=timeout, stream=True, allow_redirects=False) as answer:
            if answer.status_code in (401, 403):
                raise CollectionFailed(f"{address} refused the user name or password.", reason="unauthorised")
            if answer.status_code != 200:
                raise CollectionFailed(f"{address} answered with status {answer.status_code}.", reason="bad-answer")
            return _body(answer, address, deadline, timeout)
    except requests.exceptions.SSLError:
        raise CollectionFailed(f"{address} could not agree on TLS: who signed its certificate?", reason="tls") from None
    except requests.exceptions.Timeout:
        raise _late(address, timeout) from None
    except requests.exceptions.RequestException as trouble:
        raise _failure(address, str(trouble)) from None


def _body(answer: Any, address: str, deadline: float, timeout: float) -> bytes:
    parts, size = [], 0
    for part in answer.iter_content(1 << 16):  # a limit on each read is none on an answer that trickles
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise _late(address, timeout)
        if size > MOST_BYTES:
            raise CollectionFailed(f"{address} answered with more than {MOST_BYTES >> 20} MB.", reason="bad-answer")
    return b"".join(parts)


def _late(address: str, timeout: float) -> CollectionFailed:
    return CollectionFailed(f"{address} did not answer within {timeout:g} s.", reason="timeout")


def _failure(address: str, said: str) -> CollectionFailed:
    if "Connection refused" in said:
        return CollectionFailed(f"{address} refused the connection: nothing listens there.", reason="refused")
    if "Name or service not known" in said or "NameResolutionError" in said:
        return CollectionFailed(f"{address} has a name that does not resolve.", reason="unknown-host")
    if "Read timed out" in said:
        return CollectionFailed(f"{address} stopped in the middle of its answer.", reason="timeout")
    if "unreachable" in said or "No route to host" in said:
        return CollectionFailed(f"{address} cannot be reached.", reason="unreachable")
    return CollectionFailed(f"{address} hung up.", reason="reset")
