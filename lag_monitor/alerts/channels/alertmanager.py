"""Prometheus' Alertmanager, which groups, routes and silences by itself.

It knows an alert by its labels alone: a close with other labels would resolve nothing. So the labels are those that do not
change while an incident lasts (cluster, group, route, and the severity it opened with), and what changes is in annotations.

It also forgets: an alert is over when its endsAt is. So what is open is said again every `refresh` seconds, each time with
an endsAt five times as far away. If we die, Alertmanager resolves the alert by itself after that time.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any

from kernel.errors import UsageError
from lag_monitor.alerts.channels.channel import Refused
from lag_monitor.alerts.channels.posting import Access, checked_url, post
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.wording import headline, partitions

LABEL = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
COVER = 5  # refreshes that may fail before Alertmanager takes the alert for resolved


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """`urls`: of each of a cluster's members, for they do not tell each other. All are told; one must accept. What another
    missed it hears at the next refresh; a close it missed comes by itself when endsAt has passed."""

    name: str
    urls: tuple[str, ...] = field(repr=False)
    refresh: float = 60.0
    labels: Mapping[str, str] = field(default_factory=dict)  # more of them
    generator_url: str = ""
    access: Access = field(default_factory=Access)
    clock: Callable[[], float] = field(default=time, repr=False, compare=False)

    def check(self) -> None:
        what = f"the Alertmanager {self.name}"
        self.access.check(what)
        if not self.urls:
            raise UsageError(f"{what} has no urls.")
        if self.refresh <= 0:
            raise UsageError(f"{what}: refresh = {self.refresh:g} is not above 0, and Alertmanager forgets.")
        for url in self.urls:
            checked_url(what, url)
        for label in self.labels:
            if not LABEL.fullmatch(label):
                raise UsageError(f"{what}: {label!r} is not a name of a label: letters, digits and _, a digit not first.")

    def send(self, notice: Notice) -> None:
        body = json.dumps([self.alert(notice, self.clock())]).encode()
        refusals: list[Refused] = []
        for url in self.urls:
            try:
                post(f"{url.rstrip('/')}/api/v2/alerts", body, self.access)
            except Refused as trouble:
                refusals.append(trouble)
        if len(refusals) == len(self.urls):
            hopeless = all(one.permanent for one in refusals)
            wait = min((one.retry_after for one in refusals if one.retry_after is not None), default=None)
            raise Refused(" ".join(one.message for one in refusals), permanent=hopeless, retry_after=wait)

    def alert(self, notice: Notice, now: float) -> dict[str, Any]:
        """Of a close, endsAt is when it closed; else it is in the future, as seen from when it is sent."""
        ends = min(notice.at, now) if notice.kind is Kind.CLOSE else now + COVER * self.refresh
        labels = {
            **self.labels,
            "alertname": "KafkaConsumerLag",
            "cluster": notice.cluster,
            "consumer_group": notice.group,
            "route": notice.route,
            "severity": notice.severity,
        }
        annotations = {
            "summary": headline(notice),
            "description": "\n".join((notice.reason, *partitions(notice))),
            "status": notice.status,
            "gravity": notice.gravity.name,
            "reason": notice.reason,
            "incident": notice.incident,
            "lag": str(notice.lag),
            **({} if notice.seconds is None else {"lag_seconds": f"{notice.seconds:g}"}),
        }
        times = {"startsAt": _rfc3339(min(notice.opened_at, ends)), "endsAt": _rfc3339(ends)}
        link = {"generatorURL": self.generator_url} if self.generator_url else {}
        return {"labels": labels, "annotations": annotations, **times, **link}


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
