"""What a probe is to do, and what its threads have seen so far."""

import threading
from collections import Counter
from dataclasses import dataclass, field

from exporters.histogram import Histogram
from exporters.probe.tallying import Patience, Tally


@dataclass(frozen=True, slots=True)
class ProbePlan:
    topic: str = "kafka-trial-probe"
    interval: float = 1.0  # seconds between two records to a partition
    ack_within: float = 5.0  # seconds, or the partition is not available
    late_after: float = 5.0  # seconds after its acknowledgement in which a record should have been read back
    give_up_after: float = 30.0  # seconds in which librdkafka tries to send a record
    replication: int = 3
    place_every: float = 2.0
    gone_after: float = 600.0  # seconds from which a broker that is down is not expected back

    @property
    def patience(self) -> Patience:
        return Patience(self.ack_within, self.late_after, self.give_up_after + self.ack_within)


@dataclass(frozen=True, slots=True, eq=False)  # a second start at the same place is another start
class Start:
    """Where the reader is to begin with a partition."""

    offset: int


@dataclass(slots=True)
class Seen:
    """Shared by all threads; `lock` is held while it is touched."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    up: bool = False  # the cluster answered when it was last looked at
    topic_id: str | None = None  # a topic that was deleted and made again has another
    starts: dict[int, Start] = field(default_factory=dict)  # partition; the reader follows it
    adrift: set[int] = field(default_factory=set)  # partitions in which the reader's place is not there any more
    positions: dict[int, int] = field(default_factory=dict)  # partition → how far the reader has come
    tallies: dict[int, Tally] = field(default_factory=dict)  # partition, once it is known where to read
    homes: dict[int, int] = field(default_factory=dict)  # partition → broker
    leaders: dict[int, int | None] = field(default_factory=dict)
    brokers: frozenset[int] = frozenset()
    acks: dict[int, Histogram] = field(default_factory=dict)  # broker
    roundtrips: dict[int, Histogram] = field(default_factory=dict)
    commits: Histogram = field(default_factory=Histogram)
    commit_errors: Counter[str] = field(default_factory=Counter)
    placement_errors: int = 0
    restarts: int = 0

    def served_by(self, partition: int) -> int:
        """Who is to be praised or blamed for how long it took: the leader, as it was last seen."""
        leader = self.leaders.get(partition)
        return leader if leader is not None else self.homes.get(partition, -1)
