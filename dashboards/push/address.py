"""Where a Grafana answers, taken apart: the client library wants the parts, and joins them without looking."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from kernel.errors import UsageError

EXAMPLE = "give the address of its start page, such as http://127.0.0.1:3000 or https://example.org/grafana"


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str  # in brackets if it is an IPv6 address
    port: int | None
    prefix: str  # "" or "grafana/"

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}/{self.prefix}".rstrip("/")


def address_of(url: str) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"the Grafana address is not a URL ({error}): {EXAMPLE}.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the Grafana address holds a user name or password: {EXAMPLE}, and a token besides.")
    if parts.scheme not in ("http", "https") or not host or any(letter.isspace() for letter in url):
        raise UsageError(f"{url!r} is no address of a Grafana: {EXAMPLE}.")
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} is the address of one page of a Grafana: {EXAMPLE}.")
    prefix = parts.path.strip("/")
    return Address(parts.scheme, f"[{host}]" if ":" in host else host, port, f"{prefix}/" if prefix else "")
