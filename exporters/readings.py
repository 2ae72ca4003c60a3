"""What a collector brings home: values of attributes, as the node gave them."""

from typing import NamedTuple, Protocol

Value = float | int | str | bool | None


class Reading(NamedTuple):  # ten thousand of them come with a collection, and no other kind is made so fast
    bean: str  # an object name
    attribute: str  # of a composite: HeapMemoryUsage.used
    value: Value


class Collector(Protocol):
    """One node's values, or `CollectionFailed` with a reason. Called from one thread at a time."""

    def collect(self) -> list[Reading]: ...

    def close(self) -> None: ...
