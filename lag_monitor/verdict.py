"""What is said of a group and of each of its partitions: a status, the reason in words, and the figures it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Gravity(IntEnum):
    """How much it matters to whoever is on call."""

    OK = 0
    NOTE = 1  # worth knowing, nothing to do
    WARNING = 2
    ERROR = 3


class Status(IntEnum):
    """In the order of gravity: of several, the greatest is the one to tell."""

    OK = 0
    EMPTY_GROUP = 1  # no members, and nobody has committed for long, or there is nothing to read
    ABANDONED_TOPIC = 2  # commits are left of a topic that is gone, or that no member reads any more
    WARMING_UP = 3  # behind, and not watched for long enough to say more
    UNKNOWN = 4  # the monitor could not see: nothing is said of the group
    NEVER_COMMITTED = 5  # a member has the partition, there is something to read, and no commit was ever made
    REWOUND = 6  # commits went back, and have not come again to where they were
    SLOW = 7  # lag grows
    BEHIND_SLO = 8  # further behind, in seconds, than was promised
    STUCK_TRANSACTION = 9  # the last stable offset does not move: whoever reads committed records waits for a transaction
    STALLED = 10  # there is a member, and it does not get on
    STOPPED = 11  # nobody commits any more
    TOPIC_RECREATED = 12  # the commit belongs to a topic of that name that is no more
    DATA_LOSS = 13  # records were deleted before the group came to them

    @property
    def gravity(self) -> Gravity:
        if self is Status.OK:
            return Gravity.OK
        if self < Status.UNKNOWN:
            return Gravity.NOTE
        return Gravity.WARNING if self < Status.BEHIND_SLO else Gravity.ERROR


class Burrow(IntEnum):
    """Burrow's own words and codes."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6


def differ(ours: Status, burrow: Burrow) -> bool:
    """One judge finds it bad and the other well. What could not be seen, or is not known to Burrow, is neither."""
    if ours is Status.UNKNOWN or burrow is Burrow.NOTFOUND:
        return False
    return (ours.gravity >= Gravity.WARNING) != (burrow >= Burrow.WARN)


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    topic: str
    partition: int
    status: Status
    reason: str
    evidence: Mapping[str, float | int | str | None]
    since: float  # seconds since the epoch: when it came to be so
    committed: int | None
    end: int | None  # up to which this group may read: the last stable offset for one that reads committed records
    lag: int
    seconds: float | None  # how long ago the next record to be read was written; None if that is not known
    owner: str = ""  # host of the member that has it
    client_id: str = ""
    burrow: Burrow = Burrow.OK
    samples: tuple[tuple[float, float], ...] = ()  # (seconds since the epoch, lag), oldest first


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    cluster: str
    group: str
    status: Status
    reason: str
    since: float
    at: float  # when it was judged
    lag: int
    seconds: float | None
    state: str = ""  # Kafka's word: Stable, Empty, …; empty if it is not known
    kind: str = ""  # classic, consumer, streams or share; empty if it is not known
    members: int | None = None
    slo: float | None = None  # seconds
    burrow: Burrow = Burrow.OK
    partition_count: int = 0
    partitions: tuple[PartitionVerdict, ...] = field(default_factory=tuple)  # gravest first; of a summary, the worst few

    @property
    def gravity(self) -> Gravity:
        return self.status.gravity
