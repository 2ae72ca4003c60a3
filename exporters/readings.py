"""What a collector brings home: values of attributes, as the node gave them."""

from dataclasses import dataclass
from typing import Protocol

Value = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Reading:
    bean: str  # an object name
    attribute: str  # of a composite: HeapMemoryUsage.used
    value: Value


class Collector(Protocol):
    """One node's values, or `CollectionFailed` with a reason. Called from one thread at a time."""

    def collect(self) -> list[Reading]: ...

    def close(self) -> None: ...
