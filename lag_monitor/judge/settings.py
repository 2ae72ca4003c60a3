"""What our own judge may be told. The defaults suit an ordinary cluster; none of them is a number of records."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """All in seconds."""

    interval: float = 10.0  # between two looks
    quiet: float = 60.0  # how long a group that is behind may not get on; longer for one that is used to longer pauses
    pauses: float = 3.0  # so many times its own longest pause of late
    slow: float = 10.0  # less than this behind is never called slow
    transaction: float = 60.0  # how long a last stable offset may stand still (clients' transaction.timeout.ms is a minute)
    abandoned: float = 86_400.0  # a group without members that has not committed for so long is no longer expected back
    blind: float = 30.0  # what was last seen so long ago says nothing of now

    @property
    def forget(self) -> float:
        """A topic that is gone is spoken of for so long."""
        return max(3_600.0, 10 * self.interval)
