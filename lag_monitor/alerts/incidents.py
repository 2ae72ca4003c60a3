"""Opens, repeats and closes, decided from what was judged. Pure: time and names of incidents are handed in.

What Burrow gets wrong is what this is for: a close goes out if and only if an open did, to the same channels, once; a group
that is gone closes; a monitor that cannot see changes nothing; and nothing flaps faster than a route allows.

A route's incident: bad → (held for `after`) → open → (announced, unless silenced) → good for `close_after` → closed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.readings import Reading
from lag_monitor.alerts.routes import Route, Sight, Silence
from lag_monitor.verdict import GroupVerdict

Judged = Mapping[tuple[str, str], GroupVerdict]  # by cluster and group
GAP = 120.0  # seconds between two looks, of which no more are counted: what was longer not looked at was not seen


@dataclass(frozen=True, slots=True)
class Incident:
    id: str
    route: str
    cluster: str
    group: str
    began: float  # when it was first seen bad
    looked: float  # when it was last looked at, be it in vain
    sight: Sight
    reading: Reading  # when it was last bad
    worst: Reading
    severity: str
    opened_at: float | None = None  # None while it is held
    bad_for: float = 0.0  # seconds, as far as seen; counted until it opens
    good_for: float = 0.0  # seconds, as far as seen
    told: tuple[str, ...] = ()  # channels that were sent the open, and are owed the close
    told_status: str = ""
    told_rank: int = -1
    last_sent: float = 0.0
    refreshed: float = 0.0
    seq: int = 0  # notices so far

    @property
    def announced(self) -> bool:
        return bool(self.told)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is configured. `channels`: those there are, and after how many seconds each wants to hear again; 0 is never."""

    routes: Sequence[Route]
    channels: Mapping[str, float]
    silences: Sequence[Silence] = ()
    clusters: Collection[str] | None = None  # all that are watched; None if that is not told

    def quiet(self, incident: Incident, now: float) -> bool:
        return any(silence.covers(incident.cluster, incident.group, now) for silence in self.silences)


def step(
    incidents: Sequence[Incident],
    judged: Judged,
    *,
    now: float,
    setting: Setting,
    seen: Collection[str],
    new_id: Callable[[], str],
) -> tuple[tuple[Incident, ...], tuple[Notice, ...]]:
    """What is open now, and what is to be told. `seen`: clusters whose list of groups is whole; of the others, what is not
    in `judged` is not known. Clusters may be looked at one by one: of one that is not spoken of at all, nothing changes."""
    kept: list[Incident] = []
    notices: list[Notice] = []
    routes = {route.name: route for route in setting.routes}
    spoken_of = {*seen, *(cluster for cluster, _ in judged)}
    known = {(incident.route, incident.cluster, incident.group) for incident in incidents}
    fresh = [
        _begun(route, verdict, now, new_id)
        for route in setting.routes
        for (cluster, group), verdict in judged.items()
        if route.sight(verdict) is Sight.BAD and (route.name, cluster, group) not in known and route.covers(cluster, group)
    ]
    for incident in (*incidents, *fresh):
        verdict = judged.get((incident.cluster, incident.group))
        why = _over(incident, routes.get(incident.route), verdict, setting, seen)
        if why:
            notices += _close(incident, replace(incident.reading, reason=why), now, setting)
            continue
        after: Incident | None = incident
        told: list[Notice] = []
        if incident.cluster in spoken_of:
            after, told = _go_on(incident, routes[incident.route], verdict, now, setting)
        if after is not None:
            after, again = _refresh(after, now, setting)
            kept.append(after)
            told += again
        notices += told
    return tuple(kept), tuple(notices)


def _begun(route: Route, verdict: GroupVerdict, now: float, new_id: Callable[[], str]) -> Incident:
    seen = route.reading(verdict)
    return Incident(
        id=new_id(),
        route=route.name,
        cluster=verdict.cluster,
        group=verdict.group,
        began=now,
        looked=now,
        sight=Sight.BAD,
        reading=seen,
        worst=seen,
        severity=route.severity_label,
    )


def _over(
    incident: Incident, route: Route | None, verdict: GroupVerdict | None, setting: Setting, seen: Collection[str]
) -> str:
    """Why it is over whatever the group does; empty if it is not."""
    if route is None:
        return f"the route {incident.route} is no longer configured"
    if not route.covers(incident.cluster, incident.group):
        return f"the route {incident.route} no longer covers the group"
    if setting.clusters is not None and incident.cluster not in setting.clusters:
        return f"the cluster {incident.cluster} is no longer watched"
    return "the group is gone" if verdict is None and incident.cluster in seen else ""


def _go_on(
    incident: Incident, route: Route, verdict: GroupVerdict | None, now: float, setting: Setting
) -> tuple[Incident | None, list[Notice]]:
    sight = Sight.BLIND if verdict is None else route.sight(verdict)
    # Only time between two looks that saw the same is counted: what was not seen is neither good nor bad.
    passed = min(max(0.0, now - incident.looked), GAP) if sight is incident.sight else 0.0
    incident = replace(incident, looked=now, sight=sight, last_sent=min(incident.last_sent, now))
    if sight is Sight.GOOD and verdict is not None:
        incident = replace(incident, good_for=incident.good_for + passed)
        if incident.opened_at is None:
            return None, []
        if incident.good_for >= route.close_after:
            return None, _close(incident, route.reading(verdict), now, setting)
    told: list[Notice] = []
    if sight is Sight.BAD and verdict is not None:
        incident = _worse(incident, route.reading(verdict), passed, route, now)
        if incident.opened_at is not None and not setting.quiet(incident, now):
            incident, told = _tell(incident, route, now, setting)
    return incident, told


def _worse(incident: Incident, seen: Reading, passed: float, route: Route, now: float) -> Incident:
    held = incident.bad_for + passed if incident.opened_at is None else incident.bad_for
    opens = incident.opened_at is None and held >= route.after
    return replace(
        incident,
        reading=seen,
        worst=max(incident.worst, seen, key=lambda one: one.rank),
        bad_for=held,
        good_for=0.0,
        opened_at=now if opens else incident.opened_at,
    )


def _tell(incident: Incident, route: Route, now: float, setting: Setting) -> tuple[Incident, list[Notice]]:
    wanted = [channel for channel in route.channels if channel in setting.channels]
    new = tuple(channel for channel in wanted if channel not in incident.told)
    old = tuple(channel for channel in wanted if channel in incident.told)
    graver = incident.reading.rank > incident.told_rank
    due = route.repeat > 0 and now - incident.last_sent >= route.repeat
    notices: list[Notice] = []
    if old and (graver or due):
        incident, notice = _said(incident, Kind.REPEAT, old, now)
        notices.append(notice)
    if (
        new
    ):  # all of them at first; later, those that a route was given meanwhile: whoever is told of the end knows the beginning
        incident, notice = _said(incident, Kind.OPEN, new, now)
        notices.append(notice)
    return incident, notices


def _said(incident: Incident, kind: Kind, channels: tuple[str, ...], now: float) -> tuple[Incident, Notice]:
    first, seen = not incident.told, incident.reading
    after = replace(
        incident,
        seq=incident.seq + 1,
        told=incident.told + channels if kind is Kind.OPEN else incident.told,
        told_status=seen.status,
        told_rank=max(seen.rank, incident.told_rank),
        last_sent=now if first or kind is Kind.REPEAT else incident.last_sent,
        refreshed=now if first or kind is Kind.REPEAT else incident.refreshed,
    )
    return after, _notice(after, kind, channels, seen, now, incident.told_status)


def _refresh(incident: Incident, now: float, setting: Setting) -> tuple[Incident, list[Notice]]:
    """Also while nothing is seen or the group is silenced: a receiver that forgets would take the quiet for an end."""
    every = {channel: setting.channels.get(channel, 0.0) for channel in incident.told}
    channels = tuple(channel for channel, seconds in every.items() if seconds > 0)
    # Either way: the clock may have been put back. But not by a little, for clusters that are looked at by turns have each
    # a "now" of their own.
    if not channels or abs(now - incident.refreshed) < min(every[channel] for channel in channels):
        return incident, []
    incident = replace(incident, refreshed=now)
    return incident, [_notice(incident, Kind.REFRESH, channels, incident.reading, now, incident.told_status)]


def _close(incident: Incident, seen: Reading, now: float, setting: Setting) -> list[Notice]:
    channels = tuple(channel for channel in incident.told if channel in setting.channels)
    last = replace(incident, seq=incident.seq + 1)
    return [_notice(last, Kind.CLOSE, channels, seen, now, incident.told_status)] if channels else []


def _notice(incident: Incident, kind: Kind, channels: tuple[str, ...], seen: Reading, now: float, previous: str) -> Notice:
    return Notice(
        incident=incident.id,
        seq=incident.seq,
        kind=kind,
        route=incident.route,
        channels=channels,
        cluster=incident.cluster,
        group=incident.group,
        status=seen.status,
        gravity=seen.gravity,
        reason=seen.reason,
        lag=seen.lag,
        seconds=seen.seconds,
        since=seen.since,
        partitions=seen.partitions,
        began=incident.began,
        opened_at=now if incident.opened_at is None else incident.opened_at,
        at=now,
        previous=previous,
        severity=incident.severity,
    )
