"""A request to anything that takes one: its address and its body are templates, and JSON with all we know if there is none.

Templates run in Jinja's sandbox, may use no name that does not exist, and are tried before the daemon starts.
"""

import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernel.errors import UsageError
from lag_monitor.alerts.channels.channel import SAMPLE, Refused
from lag_monitor.alerts.channels.posting import Access, checked_url, origin, post
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.wording import headline

if TYPE_CHECKING:
    from jinja2 import Template

SAMPLES = (
    SAMPLE,
    replace(SAMPLE, kind=Kind.REPEAT, seq=2, seconds=1.0, previous="SLOW"),
    replace(SAMPLE, kind=Kind.CLOSE, seq=3, partitions=(), previous="STALLED"),
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """`url_close` and `template_close` are for closes, if those need others."""

    name: str
    url: str = field(repr=False)
    url_close: str = field(default="", repr=False)
    method: str = "POST"
    template: str = field(default="", repr=False)
    template_close: str = field(default="", repr=False)
    access: Access = field(default_factory=Access)

    @property
    def refresh(self) -> float:
        return 0.0

    def check(self) -> None:
        what = f"the webhook {self.name}"
        self.access.check(what)
        for sample in SAMPLES:
            try:
                url, body = self.request(sample)
            except Refused as trouble:
                raise UsageError(f"{what}: {trouble.message}") from None
            checked_url(what, url)
            if self._is_json and body.strip() and not _is_json(body):
                raise UsageError(
                    f"{what}: its template gives no JSON for a group named {SAMPLE.group!r}. "
                    "Write {{ group | tojson }}, without quotes around it, or set another Content-Type."
                )

    def send(self, notice: Notice) -> None:
        url, body = self.request(notice)
        if origin(url) != origin(self.request(SAMPLES[-1] if notice.kind is Kind.CLOSE else SAMPLE)[0]):
            raise Refused(f"the address of the webhook {self.name} would be of another host.", permanent=True)
        post(url, body.encode(), self.access, method=self.method, headers={"Idempotency-Key": notice.key})

    def request(self, notice: Notice) -> tuple[str, str]:
        """Address and body."""
        close = notice.kind is Kind.CLOSE
        url = (self.url_close or self.url) if close else self.url
        template = (self.template_close or self.template) if close else self.template
        values = notice.fields() | {"headline": headline(notice)}
        return _rendered(url, values), _rendered(template, values) if template else json.dumps(values)

    @property
    def _is_json(self) -> bool:
        told = {name.lower(): value for name, value in self.access.headers.items()}
        return "json" in told.get("content-type", "application/json")


def _is_json(body: str) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _rendered(source: str, values: dict[str, Any]) -> str:
    if "{" not in source:
        return source
    try:
        return _template(source).render(values)
    except Exception as trouble:  # whatever a template may do wrong
        raise Refused(f"the template does not work: {type(trouble).__name__}: {trouble}.", permanent=True) from None


@lru_cache(maxsize=64)
def _template(source: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # What is written is JSON or text, not HTML: escaping for HTML would change what the receiver reads.
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.filters["tojson"] = json.dumps
    return environment.from_string(source)
