"""Prometheus' HTTP API, as far as dashboards need it: a question, its answer in plain values, its refusals in one sentence.

An address may hold a login (user:password@) and an environment variable a token; neither is ever repeated in a message.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from kernel.errors import UsageError

if TYPE_CHECKING:
    from requests import PreparedRequest

TOKEN = "PROMETHEUS_TOKEN"  # noqa: S105 (the variable's name, not what is in it)
LONGEST = 300  # characters of an answer that is quoted


class BadExpression(UsageError):
    """Prometheus answers, and will not work this expression out."""


@dataclass(frozen=True, slots=True)
class Sample:
    labels: dict[str, str]
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Series:
    labels: dict[str, str]
    points: tuple[tuple[float, float], ...] = field(default=())  # when, and the value


class Prometheus:
    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        import requests

        self.url, login = without_login(url)
        self.timeout = timeout
        token = os.environ.get(TOKEN, "").strip()
        self._session = requests.Session()
        self._session.auth = login or (_bearer(token) if token else None)

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """What an expression is worth now, or at a time (seconds since 1970)."""
        when = {} if at is None else {"time": repr(at)}
        return [
            Sample(series.labels, value, moment)
            for series in _series(self._ask("query", {"query": expression} | when))
            for moment, value in series.points[-1:]
        ]

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Series]:
        window = {"start": repr(start), "end": repr(end), "step": repr(step)}
        return _series(self._ask("query_range", {"query": expression} | window))

    def metadata(self) -> dict[str, str]:
        """Name → type, as the scraped pages declare it; where they disagree it is unknown. Empty if it keeps none."""
        told: dict[str, str] = {}
        for name, entries in _mapping(self._ask("metadata", {}, post=False, optional=True)).items():
            kinds = {str(_mapping(entry).get("type", "unknown")) for entry in entries}
            told[name] = kinds.pop() if len(kinds) == 1 else "unknown"
        return told

    def names(self) -> set[str]:
        return set(self.label_values("__name__"))

    def label_values(self, label: str, match: str | None = None) -> list[str]:
        chosen = {"match[]": match} if match else {}
        return [str(value) for value in self._ask(f"label/{label}/values", chosen, post=False) or ()]

    def version(self) -> str:
        """Empty if it does not say."""
        told = _mapping(self._ask("status/buildinfo", {}, post=False, optional=True))
        return str(told.get("version", ""))

    def close(self) -> None:
        self._session.close()

    def _ask(self, what: str, parameters: Mapping[str, str], *, post: bool = True, optional: bool = False) -> Any:
        import requests

        place = f"{self.url}/api/v1/{what}"
        sent: dict[str, Any] = {"data": parameters} if post else {"params": parameters}  # an expression may outgrow a URL
        try:
            answer = self._session.request("POST" if post else "GET", place, timeout=self.timeout, **sent)
        except requests.Timeout:
            raise UsageError(f"{self.url} did not answer within {self.timeout:g} s: is it the Prometheus, and is it well?")
        except (requests.RequestException, ValueError) as error:
            raise UsageError(f"nobody answers at {self.url} ({type(error).__name__}): is that where the Prometheus is?")
        if answer.status_code in (401, 403):
            raise UsageError(
                f"{self.url} wants a login ({answer.status_code}): put user:password@ into the URL, or a token into {TOKEN}."
            )
        try:
            told = answer.json()
        except ValueError:
            told = None
        if not isinstance(told, dict) or "status" not in told:
            if optional and answer.status_code == 404:
                return None
            raise UsageError(
                f"{self.url} is not a Prometheus: /api/v1/{what} answered {answer.status_code} with other words."
            )
        if told["status"] == "success":
            return told.get("data")
        if optional:
            return None
        words = str(told.get("error", "no reason given"))[:LONGEST]
        if answer.status_code in (400, 422):
            raise BadExpression(f"Prometheus refuses {_short(parameters)}: {words}.", reason=words)
        raise UsageError(f"{self.url} could not answer ({answer.status_code}): {words}.")


def _bearer(token: str) -> "Callable[[PreparedRequest], PreparedRequest]":
    """As a login, not as a header: a .netrc would take the header's place."""

    def signed(request: "PreparedRequest") -> "PreparedRequest":
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return signed


def without_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """The address as it may be shown, and the login that stood in it."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("the address of the Prometheus is not a URL: say for example http://localhost:9090.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = urlunsplit((parts.scheme, f"{host}:{port}" if port else host, parts.path.rstrip("/"), "", ""))
    return shown, (unquote(parts.username), unquote(parts.password or "")) if parts.username else None


def _series(data: Any) -> list[Series]:
    """One shape for the four that Prometheus answers with; a string has no value to show."""
    told = _mapping(data)
    kind, result = told.get("resultType"), told.get("result") or []
    if kind == "scalar":
        return [Series({}, ((float(result[0]), float(result[1])),))]
    if kind == "vector":
        return [Series(dict(one["metric"]), _points([one["value"]])) for one in result if "value" in one]
    if kind == "matrix":
        return [Series(dict(one["metric"]), _points(one["values"])) for one in result if "values" in one]
    return []


def _points(pairs: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), float(value)) for at, value in pairs)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(parameters: Mapping[str, str]) -> str:
    words = " ".join(parameters.get("query", parameters.get("match[]", "the question")).split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
