"""What whoever asks may ask for: the nouns and the two ports that the HTTP side, the metrics and the terminal stand on.

Everything is answered from memory. Nobody who asks ever waits for Kafka.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lag_monitor.verdict import Burrow, GroupVerdict, Status


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    name: str
    bootstrap: str
    ready: bool  # caught up, and judged at least once
    up: bool  # it answered when it was last asked
    trouble: str  # why not, in a sentence; empty if it did
    judged_at: float | None  # seconds since the epoch
    groups: int
    partitions: int  # group-partitions
    by_status: Mapping[Status, int]
    sources: Sequence[str]  # "admin", "offsets topic"
    disagreements: int  # groups of which the two judges think differently


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A partition that one judge finds bad and the other well."""

    group: str
    topic: str
    partition: int
    ours: Status
    burrow: Burrow
    reason: str


class Verdicts(Protocol):
    """Our own judge's answers. Names that are not known give None or nothing."""

    def clusters(self) -> Sequence[ClusterSummary]: ...

    def groups(self, cluster: str) -> Sequence[GroupVerdict]:
        """Gravest first, then by name; without partitions."""
        ...

    def group(self, cluster: str, group: str) -> GroupVerdict | None:
        """With every partition, gravest first."""
        ...

    def disagreements(self, cluster: str) -> Sequence[Disagreement]: ...


@dataclass(frozen=True, slots=True)
class Commit:
    """As Burrow stores one."""

    offset: int
    timestamp: int  # milliseconds
    observed_at: int  # milliseconds, of whole seconds
    lag: int | None


@dataclass(frozen=True, slots=True)
class BurrowWindow:
    """A group's partition: as many places as the window has, oldest first, the empty ones in front. No places at all if
    neither a commit nor an owner has been seen."""

    offsets: tuple[Commit | None, ...]
    owner: str
    client_id: str
    current_lag: int


@dataclass(frozen=True, slots=True)
class BurrowPartition:
    topic: str
    partition: int
    owner: str
    client_id: str
    status: Burrow
    start: Commit | None
    end: Commit | None
    current_lag: int
    complete: float  # the shortest number that is the same in 32 bits


@dataclass(frozen=True, slots=True)
class BurrowGroup:
    group: str
    status: Burrow
    complete: float
    partitions: tuple[BurrowPartition, ...] = ()  # every one
    maxlag: BurrowPartition | None = None
    totallag: int = 0


@dataclass(frozen=True, slots=True)
class BurrowCluster:
    """What Burrow tells of its configuration, in our terms."""

    servers: tuple[str, ...]
    client_id: str
    tls: bool
    sasl: str  # mechanism, or empty
    topic_refresh: int
    offset_refresh: int


class BurrowState(Protocol):
    """What Burrow would know. None: there is no such cluster, topic or group."""

    def clusters(self) -> Sequence[str]: ...

    def cluster(self, cluster: str) -> BurrowCluster | None: ...

    def topics(self, cluster: str) -> Sequence[str] | None: ...

    def heads(self, cluster: str, topic: str) -> Sequence[int] | None:
        """The newest of each partition that has one; the others are left out, as Burrow does it."""
        ...

    def consumers(self, cluster: str) -> Sequence[str] | None: ...

    def consumers_of(self, cluster: str, topic: str) -> Sequence[str] | None: ...

    def consumer(self, cluster: str, group: str) -> Mapping[str, Sequence[BurrowWindow]] | None: ...

    def status(self, cluster: str, group: str) -> BurrowGroup | None: ...

    def delete(self, cluster: str, group: str, topic: str | None = None) -> None:
        """Forget a group, or one topic of it, until it is heard of again. Nothing happens if it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class BurrowSettings:
    """What /v3/config tells beside the clusters."""

    listen: str
    intervals: int
    min_distance: int
    expire_group: int
    allowed_lag: int
    minimum_complete: float
    expire_cache: int
    allow: str
    deny: str
    notifiers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # name → what may be shown of it
