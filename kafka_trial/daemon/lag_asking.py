"""How groups are doing, for a terminal: from a lag monitor that runs, or, where none does, by a look of our own."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, UsageError
from lag_monitor.judge.settings import Patience
from lag_monitor.monitor import Monitor, Plan
from lag_monitor.view import Answers
from lag_monitor.watch import Watch

LOGIN = "KAFKA_TRIAL_LAG_LOGIN"  # user:password, for a monitor that wants one
Clusters = list[dict[str, Any]]  # each with its groups, as /api tells them
PATIENCE = 60.0  # seconds for a first look


def daemon(url: str, ca_file: Path | None) -> Callable[[], Clusters]:
    def ask() -> Clusters:
        found = []
        for about in _get(url, "/api/clusters", ca_file)["clusters"]:
            path = f"/api/clusters/{quote(about['cluster'], safe='')}/groups?limit=10000"
            found.append({**about, "groups": _get(url, path, ca_file)["groups"]})
        return found

    return ask


@contextmanager
def own_look(plan: Plan) -> Iterator[Callable[[], Clusters]]:
    """Watches as the daemon would, but tells nobody and keeps nothing."""
    from lag_monitor.pages import own_payloads

    quietly = Plan(plan.watches)
    with Monitor(quietly) as monitor:
        answers = Answers(lambda: monitor.views)

        def ask() -> Clusters:
            return [
                {**own_payloads.cluster(one), "groups": [own_payloads.group(group) for group in answers.groups(one.name)]}
                for one in answers.clusters()
            ]

        deadline = time.monotonic() + PATIENCE
        while not monitor.ready:
            if time.monotonic() > deadline:
                said = "; ".join(f"{one.name}: {one.trouble or 'still reading'}" for one in answers.clusters())
                raise NotReady(f"no look succeeded within {PATIENCE:g} s ({said}).")
            time.sleep(0.05)
        yield ask


def plan_for(bootstrap: str, every: float) -> Plan:
    """`every`: seconds between two looks, for as long as somebody watches."""
    return Plan((Watch(bootstrap.split(",")[0], ClusterAddress(bootstrap), patience=Patience(interval=min(every, 10.0))),))


def _get(url: str, path: str, ca_file: Path | None) -> dict[str, Any]:
    import requests

    user, _, password = os.environ.get(LOGIN, "").partition(":")
    try:
        answer = requests.get(
            url.rstrip("/") + path,
            timeout=10,
            auth=(user, password) if user else None,
            verify=str(ca_file) if ca_file else True,
        )
        told = answer.json() if answer.status_code != 401 else {}
    except (requests.RequestException, ValueError):
        raise UsageError(
            f"no lag monitor answers at {url}: start one with kafka-trial lag-monitor --config FILE, say where with --url, "
            "or look yourself with --bootstrap HOST:PORT."
        ) from None
    if answer.status_code == 401:
        raise UsageError(f"{url} wants a login: set {LOGIN}=user:password in the environment.")
    if answer.status_code != 200 or not isinstance(told, dict):
        raise UsageError(f"{url} says: {told.get('error') if isinstance(told, dict) else answer.reason}")
    return told
