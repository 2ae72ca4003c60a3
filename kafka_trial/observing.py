"""What the monitoring says while a trial breaks things, as events of the run: reports tell how soon it noticed.

A run that is watched says so by an `observer` event: without one, silence means that nobody looked; with one, it is a miss.
The watchers take roads that no fault touches, and look more often than they would in production.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kernel.errors import SuiteError, UsageError

if TYPE_CHECKING:
    from chaos.trial import Trial
    from lag_monitor.view import ClusterView

EVERY = 0.5  # seconds between two looks
QUIET = 5.0  # a group that is behind may stand still for so long; in production it is a minute
AUDITED = {
    "interceptor.classes": "interceptors.audit.Audit",
    "interceptor.audit.every.ms": "500",
    "interceptor.audit.count": "read",  # readers that assign themselves their partitions commit nothing
}
AUDIT_WITHIN = 60.0  # seconds to read the audit topic


@dataclass(frozen=True, slots=True)
class Observers:
    lag: bool = False
    audit: bool = False
    alerts: str = ""  # where a Prometheus answers

    @property
    def clients(self) -> dict[str, str]:
        """What every client of the run has to be told."""
        return AUDITED if self.audit else {}


def observers_of(words: Sequence[str]) -> Observers:
    """From the command line: lag, audit, alerts=URL. A Prometheus that does not answer is told of before anything starts."""
    wanted: dict[str, Any] = {}
    for word in words:
        name, equals, url = word.partition("=")
        if name == "alerts" and urlsplit(url).scheme in ("http", "https"):
            _alerts(url)
            wanted["alerts"] = url
        elif name in ("lag", "audit") and not equals:
            wanted[name] = True
        else:
            raise UsageError(f"observer {word!r} is not known: say lag, audit, or alerts=http://HOST:PORT of a Prometheus.")
    return Observers(**wanted)


@contextmanager
def observing(trial: "Trial", wanted: Observers) -> Iterator[None]:
    with ExitStack() as watching:
        if wanted.audit:
            watching.callback(_audit, trial)  # asked at the end, when the clients have said all they have to say
        if wanted.lag:
            watching.enter_context(_watching_lag(trial))
        if wanted.alerts:
            watching.enter_context(_watching_alerts(trial, wanted.alerts))
        yield


@contextmanager
def _watching_lag(trial: "Trial") -> Iterator[None]:
    from lag_monitor.judge.settings import Patience
    from lag_monitor.monitor import Monitor, Plan
    from lag_monitor.watch import Watch

    patience = Patience(interval=EVERY, quiet=QUIET, slow=2.0)
    watch = Watch("trial", trial.cluster.direct_address, patience=patience, topics_every=2.0, groups_every=EVERY)
    before: dict[str, str] = {}

    def looked(view: "ClusterView") -> None:
        for group in (one for one in view.groups if one.group in trial.groups):  # others may be those of another run
            status, was = group.status.name, before.get(group.group, "OK")
            before[group.group] = status
            if status != was:
                trial.events.write("lag", group=group.group, status=status, was=was, sentence=group.reason)

    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # brokers go and come: that is what we are here for
    with Monitor(Plan((watch,))) as monitor:
        monitor.after_each_look(looked)
        trial.events.write("observer", kind="lag", patience_s=QUIET, every_s=EVERY)
        yield


@contextmanager
def _watching_alerts(trial: "Trial", url: str) -> Iterator[None]:
    firing = set(_alerts(url))
    trial.events.write("observer", kind="alert", every_s=EVERY, already=sorted(firing))

    def look() -> None:
        now = set(_alerts(url))
        for state, names in (("firing", now - firing), ("resolved", firing - now)):
            for name in sorted(names):
                trial.events.write("alert", alert=name, state=state)
        firing.clear()
        firing.update(now)

    with _every(EVERY, look, lambda trouble: trial.events.write("observer-lost", kind="alert", sentence=trouble)):
        yield


@contextmanager
def _every(seconds: float, look: Callable[[], None], lost: Callable[[str], Any]) -> Iterator[None]:
    over = threading.Event()

    def run() -> None:
        was_lost = False
        while not over.wait(seconds):
            try:
                look()
                was_lost = False
            except SuiteError as trouble:
                if not was_lost:
                    lost(trouble.message)
                was_lost = True

    thread = threading.Thread(target=run, name="alerts", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(15)


def _alerts(url: str) -> list[str]:
    """The names of those that fire now."""
    import requests

    try:
        answer = requests.get(f"{url.rstrip('/')}/api/v1/alerts", timeout=5)
        answer.raise_for_status()
        found = answer.json()["data"]["alerts"]
        return sorted({one["labels"]["alertname"] for one in found if one["state"] == "firing"})
    except (requests.RequestException, ValueError, KeyError, TypeError):
        raise UsageError(f"no Prometheus answers at {url}: give the address of its web page, such as http://127.0.0.1:9090.")


def _audit(trial: "Trial") -> None:
    from interceptors.audit.reconcile import Verdict
    from kafka_trial.daemon.audit_config import AuditConfig
    from kafka_trial.daemon.audit_once import audited

    trial.events.write("observer", kind="audit")
    told = AuditConfig.model_validate({"kafka": {"bootstrap": trial.cluster.direct_address.bootstrap}, "lateness": 0.001})
    try:
        sums = audited(told, AUDIT_WITHIN).sums()
    except SuiteError as trouble:
        trial.events.write("observer-lost", kind="audit", sentence=trouble.message)
        return
    for (topic, source, tier), found in sorted(sums.items()):
        if topic not in trial.topics:  # of another run, on a cluster that is shared
            continue
        complete, missing, extra = (
            found.outcomes.get(word, 0) for word in (Verdict.COMPLETE, Verdict.MISSING, Verdict.EXTRA)
        )
        sent = sum(found.outcomes.values()) - extra
        trial.events.write(
            "audit", link=f"{topic}: {source} → {tier}", sent=sent, received=complete + extra, missing=missing,
            duplicated=extra,
        )  # fmt: skip
