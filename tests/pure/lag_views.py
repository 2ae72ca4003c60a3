"""Lag monitors made of values, for whatever stands on their answers: no Kafka, no thread, no waiting."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lag_monitor.answers import (
    BurrowCluster,
    BurrowGroup,
    BurrowPartition,
    BurrowSettings,
    BurrowWindow,
    ClusterSummary,
    Commit,
    Disagreement,
)
from lag_monitor.verdict import Burrow, GroupVerdict, PartitionVerdict, Status

if TYPE_CHECKING:
    from starlette.testclient import TestClient

NOW = 1_785_000_000.0  # 2026-07-25 17:20:00 UTC
SETTINGS = BurrowSettings(
    listen="127.0.0.1:8000",
    intervals=10,
    min_distance=1,
    expire_group=604800,
    allowed_lag=0,
    minimum_complete=0.0,
    expire_cache=10,
    allow="",
    deny="^tmp-",
    notifiers={"hook": {"class-name": "http", "url-open": "https://example.test/hook"}},
)
ABOUT = BurrowCluster(("127.0.0.1:9092",), "kafka-trial-lag", False, "", 60, 10)


@dataclass
class Views:
    """Our own judge's answers, as they were put in."""

    groups_of: dict[str, list[GroupVerdict]] = field(default_factory=dict)
    summaries: dict[str, ClusterSummary] = field(default_factory=dict)
    differences: dict[str, list[Disagreement]] = field(default_factory=dict)

    def clusters(self) -> Sequence[ClusterSummary]:
        return [self.summaries.get(name) or summary(name, groups) for name, groups in self.groups_of.items()]

    def groups(self, cluster: str) -> Sequence[GroupVerdict]:
        known = sorted(self.groups_of.get(cluster, []), key=lambda one: (-one.status, one.group))
        return [replace(one, partitions=()) for one in known]

    def group(self, cluster: str, group: str) -> GroupVerdict | None:
        return next((one for one in self.groups_of.get(cluster, []) if one.group == group), None)

    def disagreements(self, cluster: str) -> Sequence[Disagreement]:
        return self.differences.get(cluster, [])


def summary(name: str, groups: Sequence[GroupVerdict] = (), **changes: object) -> ClusterSummary:
    plain = ClusterSummary(
        name=name,
        bootstrap=f"{name}-1.example.test:9092, {name}-2.example.test:9092",
        ready=True,
        up=True,
        trouble="",
        judged_at=NOW - 4,
        groups=len(groups),
        partitions=sum(one.partition_count for one in groups),
        by_status=Counter(one.status for one in groups),
        sources=("admin", "offsets topic"),
        disagreements=0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def group(name: str, status: Status = Status.OK, **changes: object) -> GroupVerdict:
    plain = GroupVerdict(
        cluster="prod",
        group=name,
        status=status,
        reason="at the end of every partition" if status is Status.OK else f"it is {status.name.lower().replace('_', ' ')}",
        since=NOW - 250,
        at=NOW - 4,
        lag=0 if status is Status.OK else 12_345,
        seconds=0.0 if status is Status.OK else 200.0,
        state="Stable",
        kind="consumer",
        members=3,
        burrow=Burrow.OK if status is Status.OK else Burrow.ERR,
        partition_count=1,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def partition(number: int, status: Status = Status.OK, **changes: object) -> PartitionVerdict:
    plain = PartitionVerdict(
        topic="orders",
        partition=number,
        status=status,
        reason="at the end" if status is Status.OK else f"it is {status.name.lower().replace('_', ' ')}",
        evidence={},
        since=NOW - 250,
        committed=88_000,
        end=88_000,
        lag=0,
        seconds=0.0,
        owner="10.0.0.7",
        client_id="billing-1",
        samples=tuple((NOW - 60 + 10 * step, 0.0) for step in range(7)),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def mixed() -> Views:
    """Eight groups in two clusters, one of each look, as a person on call may meet them."""
    stalled = partition(
        3,
        Status.STALLED,
        reason="10.0.0.7 has held it for 9 min and committed 88,120 each time, while 4,310 records came",
        evidence={"commits": 31, "span_seconds": 540.5, "committed": 88_120, "head_moved": 4_310, "last_commit": None},
        committed=88_120,
        end=92_430,
        lag=4_310,
        seconds=545.0,
        burrow=Burrow.STALL,
        samples=tuple((NOW - 540 + 10 * step, 80.0 * step) for step in range(55)),
    )
    slow = partition(
        1,
        Status.SLOW,
        reason="lag grows by 12 records a second",
        lag=7_200,
        end=95_200,
        seconds=65.0,
        burrow=Burrow.OK,
        samples=tuple(
            (NOW - 540 + 10 * step, 6_000.0 + 22 * step + 300 * (step % 4)) for step in range(55) if not 20 < step < 28
        ),
    )
    billing = group(
        "billing",
        Status.STALLED,
        reason="orders-3: 10.0.0.7 has held it for 9 min and committed 88,120 each time, while 4,310 records came",
        lag=11_510,
        seconds=545.0,
        slo=300.0,
        burrow=Burrow.ERR,
        partition_count=6,
        partitions=(
            stalled,
            slow,
            partition(
                5, Status.WARMING_UP, reason="watched for 8 s, 60 s are needed", lag=12, seconds=3.1, samples=((NOW, 12.0),)
            ),
            partition(0),
            partition(2, samples=tuple((NOW - 540 + 10 * step, 40.0 if step % 9 == 3 else 0.0) for step in range(55))),
            partition(4, owner="", client_id="", samples=()),
        ),
    )
    prod = [
        billing,
        group(
            "invoices-archive",
            Status.DATA_LOSS,
            reason="invoices-0: 18,204 records were deleted by retention before they were read",
            lag=1_204_511,
            seconds=90_000.0,
            since=NOW - 7_300,
            state="Empty",
            members=0,
        ),
        group("search-indexer", Status.SLOW, reason="lag grows by 40 records a second", lag=52_100, burrow=Burrow.OK),
        group("checkout", reason="at the end of all 12 partitions", partition_count=12, members=12),
        group("audit-eos", reason="only a transaction's marker is left to read", lag=1, seconds=0.4, burrow=Burrow.ERR),
        group(
            "old-report",
            Status.EMPTY_GROUP,
            reason="no members, last commit 6 d ago",
            state="Empty",
            members=0,
            seconds=None,
        ),
    ]
    edge = [
        group(
            "telemetry", Status.UNKNOWN, reason="edge did not answer for 40 s", cluster="edge", seconds=None, members=None
        ),
        group("firmware", Status.OK, cluster="edge", state=""),
    ]
    return Views(
        {"prod": prod, "edge": edge},
        {
            "prod": summary("prod", prod, disagreements=2),
            "edge": summary(
                "edge", edge, up=False, trouble="edge-1.example.test:9092 refused the connection", judged_at=NOW - 44
            ),
        },
        {"prod": [Disagreement("audit-eos", "orders", 0, Status.OK, Burrow.STOP, "only a transaction's marker is left")]},
    )


def many(number: int = 5_000) -> Views:
    """So many groups, most of them well, the few bad ones far apart."""
    bad = {17: Status.DATA_LOSS, 2_300: Status.STOPPED, 4_999: Status.STALLED}
    groups = [group(f"service-{at:05}", bad.get(at, Status.SLOW if at % 500 == 1 else Status.OK)) for at in range(number)]
    return Views({"prod": groups})


def incident(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "id": "5f0c",
        "cluster": "prod",
        "group": "billing",
        "began": NOW - 840,
        "opened_at": NOW - 780,
        "last_sent": 0.0,
        "severity": "page",
        "reading": {"status": "STALLED", "gravity": 3, "reason": "orders-3 does not get on", "since": NOW - 850},
    }
    reading = {name: changes.pop(name) for name in ("status", "gravity", "reason") if name in changes}
    return {**plain, "reading": {**plain["reading"], **reading}, **changes}


@dataclass
class State:
    """What Burrow would know of one cluster, `local`."""

    groups: dict[str, BurrowGroup] = field(default_factory=dict)
    windows: dict[str, Mapping[str, Sequence[BurrowWindow]]] = field(default_factory=dict)
    topic_heads: dict[str, list[int]] = field(default_factory=dict)
    deleted: list[tuple[str, str, str | None]] = field(default_factory=list)
    about: BurrowCluster = ABOUT

    def clusters(self) -> Sequence[str]:
        return ["local"]

    def cluster(self, cluster: str) -> BurrowCluster | None:
        return self.about if cluster == "local" else None

    def topics(self, cluster: str) -> Sequence[str] | None:
        return list(self.topic_heads) if cluster == "local" else None

    def heads(self, cluster: str, topic: str) -> Sequence[int] | None:
        return self.topic_heads.get(topic) if cluster == "local" else None

    def consumers(self, cluster: str) -> Sequence[str] | None:
        return list(self.groups) if cluster == "local" else None

    def consumers_of(self, cluster: str, topic: str) -> Sequence[str] | None:
        return [name for name, topics in self.windows.items() if topic in topics] if cluster == "local" else None

    def consumer(self, cluster: str, group: str) -> Mapping[str, Sequence[BurrowWindow]] | None:
        return self.windows.get(group) if cluster == "local" else None

    def status(self, cluster: str, group: str) -> BurrowGroup | None:
        return self.groups.get(group) if cluster == "local" else None

    def delete(self, cluster: str, group: str, topic: str | None = None) -> None:
        self.deleted.append((cluster, group, topic))


def client(
    views: Views | None = None,
    burrow: State | None = None,
    *,
    settings: BurrowSettings = SETTINGS,
    ready: bool = True,
    incidents: Sequence[Mapping[str, object]] = (),
    token: str = "",
    cors: str = "",
) -> "TestClient":
    """Somebody who asks. What is not said is the plainest that can be."""
    from starlette.applications import Starlette

    from lag_monitor.pages.routes import routes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would rather have a newer httpx
        from starlette.testclient import TestClient
    answering = routes(
        views or Views(), burrow or State(), settings, lambda: ready, lambda: incidents, token, cors, clock=lambda: NOW
    )
    return TestClient(Starlette(routes=answering), follow_redirects=False)


def state() -> State:
    """Two groups: one with a partition that stalls, and one whose name has a slash."""
    first, last = (
        Commit(100, 1_785_000_000_123, 1_785_000_000_000, 5),
        Commit(100, 1_785_000_010_456, 1_785_000_010_000, None),
    )
    well = BurrowPartition("orders", 0, "10.0.0.7", "billing-1", Burrow.OK, first, last, 0, 1.0)
    bad = BurrowPartition("orders", 1, "", "", Burrow.STALL, first, last, 42, 0.33333334)
    bare = BurrowPartition("orders", 2, "", "", Burrow.OK, None, None, 0, 0.0)
    return State(
        groups={
            "billing": BurrowGroup("billing", Burrow.ERR, 0.33333334, (well, bad, bare), bad, 42),
            "a/b": BurrowGroup("a/b", Burrow.OK, 0.0),
        },
        windows={
            "billing": {
                "orders": [BurrowWindow((None, first, last), "10.0.0.7", "billing-1", 0), BurrowWindow((), "", "", 0)],
                "audit": [],
            },
            "a/b": {},
        },
        topic_heads={"orders": [100, 142], "bare": []},
    )
