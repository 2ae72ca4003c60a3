"""What a probe is to do, and what its threads have seen so far."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from exporters.histogram import Histogram
from exporters.probe.tallying import Patience, Tally

Address = tuple[str, int]


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
    certificates_every: float = 3600.0  # with TLS: seconds between two looks at a broker's certificate

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
    addresses: Mapping[int, Address] = field(default_factory=dict)  # broker → where it tells clients to find it
    acks: dict[int, Histogram] = field(default_factory=dict)  # broker
    roundtrips: dict[int, Histogram] = field(default_factory=dict)
    commits: Histogram = field(default_factory=Histogram)
    commit_errors: Counter[str] = field(default_factory=Counter)
    placement_errors: int = 0
    restarts: int = 0
    certificates: dict[int, float | None] = field(default_factory=dict)  # broker → expiry; None: it could not be read
    certificate_errors: Counter[tuple[int, str]] = field(default_factory=Counter)  # broker, reason
    client_certificate: float | None = None  # expiry of the probe's own

    def served_by(self, partition: int) -> int:
        """Who is to be praised or blamed for how long it took: the leader, as it was last seen."""
        leader = self.leaders.get(partition)
        return leader if leader is not None else self.homes.get(partition, -1)
