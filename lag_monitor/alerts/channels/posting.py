"""One HTTP request, for every channel that needs one: what is kept secret, what is tried again, what is never followed.

An address may hold a token, so of addresses no more is ever said than scheme, host and port.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kernel.errors import UsageError
from lag_monitor.alerts.channels.channel import Refused
from lag_monitor.alerts.wording import shown

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

AGAIN = (408, 425, 429)  # those of 4xx that may be answered otherwise next time


@dataclass(frozen=True, slots=True)
class Access:
    """How to get in. Passwords and headers are not shown."""

    username: str = ""
    password: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    timeout: float = 5.0  # seconds, to connect and for each answer

    def check(self, what: str) -> None:
        if self.ca_file and not Path(self.ca_file).is_file():
            raise UsageError(f"{what}: there is no CA file {self.ca_file}.")
        if any(sign in name + value for name, value in self.headers.items() for sign in "\r\n"):
            raise UsageError(f"{what}: a header holds the end of a line.")


def checked_url(what: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{what}: its address is not http:// or https:// and a host.")
    if parts.username or parts.password:
        raise UsageError(f"{what}: its address holds a user or a password, which belong into username and password.")


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def post(url: str, body: bytes, access: Access, *, method: str = "POST", headers: Mapping[str, str] | None = None) -> None:
    """Redirects are never followed: a notice, and the password that goes with it, is for the host it was meant for."""
    import requests

    # At the level of debugging, it writes every path; and paths hold tokens.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)
    where = origin(url)
    try:
        with (
            requests.Session() as session,
            session.request(
                method,
                url,
                data=body,
                headers={"Content-Type": "application/json", **(headers or {}), **access.headers},
                # Something must stand here: without it, requests looks for a password in the user's .netrc.
                auth=(access.username, access.password) if access.username else _as_it_is,
                verify=access.ca_file or True,
                timeout=access.timeout,
                allow_redirects=False,
                stream=True,
            ) as answer,
        ):
            if answer.status_code >= 300:
                raise _refusal(where, answer)
    except requests.exceptions.SSLError:
        raise Refused(f"{where} has no certificate that we trust; see ca_file.") from None
    except requests.exceptions.Timeout:
        raise Refused(f"{where} does not answer within {access.timeout:g} s.") from None
    except requests.exceptions.ConnectionError:
        raise Refused(f"no connection to {where}.") from None
    except (requests.exceptions.RequestException, UnicodeError) as trouble:  # whose text may hold the whole address
        raise Refused(f"the request to {where} failed: {type(trouble).__name__}.") from None


def _as_it_is(request: "PreparedRequest") -> "PreparedRequest":
    return request


def _refusal(where: str, answer: "Response") -> Refused:
    code = answer.status_code
    if code < 400:
        return Refused(f"{where} answers {code}, a redirect, which is not followed: put the final address.")
    said = shown(_beginning(answer), 200)
    permanent = code < 500 and code not in AGAIN
    wait = retry_after(answer.headers.get("Retry-After", ""), time()) if not permanent else None
    return Refused(f"{where} answers {code}" + (f": {said}" if said else "."), permanent=permanent, retry_after=wait)


def _beginning(answer: "Response") -> str:
    try:
        chunk: bytes = next(answer.iter_content(500), b"")
    except Exception:  # what it would have said is not worth failing for
        return ""
    return chunk.decode("utf-8", "replace").strip()


def retry_after(told: str, now: float) -> float | None:
    """Seconds from now; HTTP allows a number or a date."""
    if told.strip().isdecimal():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
