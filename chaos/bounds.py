"""How long a fault may darken a partition, derived from what is configured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """At most so many seconds, and the sum they come from in words."""

    seconds: float
    why: str
