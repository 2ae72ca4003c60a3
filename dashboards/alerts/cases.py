"""What promtool is asked of every rule: it fires, no sooner than it may, alone, and clears; a restart leaves it quiet.

And of all rules together: nothing fires on a healthy cluster, and when every series vanishes the silence is alarming.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.alerts.alert import Alert, Gone, Labels
from dashboards.alerts.durations import seconds, windows
from dashboards.alerts.every import ALERTS
from dashboards.alerts.healthy import (
    ACTIVE,
    BROKEN,
    END,
    HEALED,
    MINUTE,
    NODES,
    STEP,
    UP,
    Series,
    Values,
    broken,
    healthy,
    named,
    restarting,
)

Firing = Mapping[str, Sequence[Labels]]  # alert → the labels of each that fires
QUIET: Firing = {}
BEFORE, BROKE, HEALTHY = (BROKEN - 1) * STEP, BROKEN * STEP, HEALED * STEP  # seconds
SEVERITIES = {alert.name: alert.severity for alert in ALERTS}
NOTICED = 6 * 60  # seconds from which on a monitor that is gone is missed
BLIND: Firing = {
    "KafkaMonitorGone": (
        {"monitor": "exporter"},
        *({"cluster": "c", "monitor": monitor} for monitor in ("exporter", "lag monitor", "probe", "audit")),
    )
}


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    series: Series
    moments: Mapping[int, Firing]  # seconds → all that may fire then, and must


def cases(alerts: Iterable[Alert] = ALERTS) -> list[Case]:
    rules = tuple(alerts)
    return [
        Case("a healthy cluster is quiet", healthy(), dict.fromkeys((60, BROKE, HEALTHY, (END - 1) * STEP), QUIET)),
        Case("a rolling restart is quiet", restarting(), _quiet_for(30)),
        Case("a rolling restart with slow brokers is quiet", restarting(away=MINUTE + 3), _quiet_for(40)),
        *_vanishing(),
        *(fires_and_clears(alert) for alert in rules),
        *(falls_blind(alert) for alert in rules),
    ]


def fires_and_clears(alert: Alert) -> Case:
    """Nothing before it breaks; the rule alone once it had its time, not a step sooner; nothing once it healed."""
    expected = {alert.name: (alert.labels,)} | {name: (labels,) for name, labels in alert.also.items()}
    moments: dict[int, Firing] = {BEFORE: QUIET}
    if hold := int(seconds(alert.hold)):
        moments[BROKE + hold - STEP] = QUIET
    if _is_over_by_itself(alert):
        moments[BROKE + int(seconds(alert.fires))] = expected
    else:
        own = {alert.name: (alert.labels,)}
        moments[BROKE + int(seconds(alert.fires))] = own if _sooner_than_the_others(alert) else expected
        moments[HEALTHY - STEP] = expected
    moments[HEALTHY + int(seconds(alert.clears))] = QUIET
    return Case(firing_case(alert.name), broken(alert.broken), moments)


def falls_blind(alert: Alert) -> Case:
    """Every series vanishes while it fires: it may fall silent, for then it is said that nothing is seen any more."""
    firing = broken(alert.broken, BROKEN, END)
    series = {name: _until(values, HEALED) for name, values in firing.items()}
    looks_back = max(windows(alert.expression), default=0)
    goes_on = NOTICED < looks_back < HEALTHY - BROKE and not _is_over_by_itself(alert)
    remembered: Firing = {alert.name: (alert.labels,)} if goes_on else {}
    return Case(blind_case(alert.name), series, {HEALTHY + NOTICED: {**BLIND, **remembered}})


def firing_case(alert: str) -> str:
    return f"{alert} fires and clears"


def blind_case(alert: str) -> str:
    return f"{alert} when nothing is seen any more"


def _vanishing() -> list[Case]:
    everything = broken({name: Gone() for name in healthy()})
    controllers = broken({named(ACTIVE, node=node): Gone() for node in NODES})
    return [
        Case("every series vanishes", everything, {BROKE + NOTICED: BLIND, BROKE + 5 * NOTICED: BLIND, HEALTHY + 60: QUIET}),
        Case("controllers tell nothing", controllers, {BROKE + 45: {"KafkaNoActiveController": ({"cluster": "c"},)}}),
        *(_unread(node) for node in ("1", "3")),
    ]


def _unread(node: str) -> Case:
    """Also the active controller: others see that it is at work."""
    told = {name: Gone() for name in healthy() if f'node="{node}"' in name}
    unread: Firing = {"KafkaNodeNotRead": ({"cluster": "c", "node": node},)}
    moments = {BROKE + 240: QUIET, BROKE + NOTICED: unread, HEALTHY + 60: QUIET}
    return Case(f"node {node} tells nothing", broken({**told, named(UP, node=node): 0}), moments)


def _quiet_for(minutes: int) -> dict[int, Firing]:
    return dict.fromkeys(range(STEP, minutes * 60, STEP), QUIET)


def _is_over_by_itself(alert: Alert) -> bool:
    return alert.clears == "0s"


def _sooner_than_the_others(alert: Alert) -> bool:
    holds = {one.name: seconds(one.hold) for one in ALERTS}
    return any(holds[name] > seconds(alert.fires) for name in alert.also)


def _until(values: Values, end: int) -> Values:
    return [*values[:end], *[None] * (len(values) - end)]


def as_promtool(case: Case, rules: str, names: Iterable[str]) -> dict[str, Any]:
    """Every alert is asked about at every moment: one that fires beside the expected ones fails the case."""
    asked = [
        {"eval_time": f"{moment}s", "alertname": name, "exp_alerts": _expected(name, firing)}
        for moment, firing in sorted(case.moments.items())
        for name in names
    ]
    series = [{"series": name, "values": notation(values)} for name, values in case.series.items()]
    test = {"interval": f"{STEP}s", "input_series": series, "alert_rule_test": asked}
    return {"rule_files": [rules], "evaluation_interval": f"{STEP}s", "tests": [test]}


def _expected(name: str, firing: Firing) -> list[dict[str, Any]]:
    return [{"exp_labels": {**labels, "severity": SEVERITIES[name]}} for labels in firing.get(name, ())]


def notation(values: Values) -> str:
    """promtool's own; a series that ends does so with a mark, as it does when a target is gone."""
    before: list[float | None] = [None, *values[:-1]]
    return " ".join(
        f"{value:.15g}" if value is not None else "stale" if last is not None else "_"
        for last, value in zip(before, values, strict=True)
    )
