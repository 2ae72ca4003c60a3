"""What can be done to a link, as plain values: each knows Toxiproxy's word for itself and its effect in Kafka's terms.

`upstream` is the direction of requests (from the source to the target), `downstream` that of responses. A cut has no
direction: Toxiproxy closes its listener, so a new connection is refused at once, as by a broker that is not there.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from kernel.errors import UsageError

Direction = Literal["upstream", "downstream"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Refuse new connections and close the open ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    direction: Direction = "downstream"
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if self.direction not in ("upstream", "downstream"):
            raise UsageError(f"direction {self.direction!r} is not known: choose upstream or downstream.")
        for name, value in self.attributes().items():
            if value < 0:
                raise UsageError(f"{self.kind} {name} {value} is negative: give 0 or more.")

    def attributes(self) -> dict[str, int]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blackhole(Toxic):
    """Swallow every byte; the connection stays open and silent, as with a host that vanished."""

    kind: ClassVar[str] = "timeout"

    def attributes(self) -> dict[str, int]:
        return {"timeout": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(Toxic):
    """Delay every chunk by `ms`, give or take `jitter` milliseconds."""

    ms: int
    jitter: int = 0
    kind: ClassVar[str] = "latency"

    def attributes(self) -> dict[str, int]:
        return {"latency": self.ms, "jitter": self.jitter}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth(Toxic):
    """Let at most `kbytes` kilobytes a second through."""

    kbytes: int
    kind: ClassVar[str] = "bandwidth"

    def attributes(self) -> dict[str, int]:
        return {"rate": self.kbytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Toxic):
    """Answer traffic with a TCP reset, `after_ms` after it arrived. An idle connection lives on until it speaks."""

    after_ms: int = 0
    kind: ClassVar[str] = "reset_peer"

    def attributes(self) -> dict[str, int]:
        return {"timeout": self.after_ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowClose(Toxic):
    """Keep a connection half open for `ms` after one side closed it."""

    ms: int
    kind: ClassVar[str] = "slow_close"

    def attributes(self) -> dict[str, int]:
        return {"delay": self.ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slicer(Toxic):
    """Hand the bytes over in pieces of about `size`, `delay_us` microseconds apart: partial frames."""

    size: int
    variation: int = 0
    delay_us: int = 0
    kind: ClassVar[str] = "slicer"

    def attributes(self) -> dict[str, int]:
        return {"average_size": self.size, "size_variation": self.variation, "delay": self.delay_us}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitData(Toxic):
    """Close the connection after `bytes`. Downstream this applies a request and loses its answer."""

    bytes: int
    kind: ClassVar[str] = "limit_data"

    def attributes(self) -> dict[str, int]:
        return {"bytes": self.bytes}
