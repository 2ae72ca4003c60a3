"""What a report will hold, as it is gathered: of a producer and of a consumer the same kind of thing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interceptors.audit.report import Key, Stretch, Unsure
from interceptors.audit.sketch import Sketch

MOST_UNSURE = 500  # entries; beyond, those of a partition are told as one


@dataclass(frozen=True, slots=True)
class Contents:
    rows: Mapping[Key, Sketch] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()
    unsure: tuple[Unsure, ...] = ()
    unaudited: int = 0

    @property
    def records(self) -> int:
        return sum(sketch.count for sketch in self.rows.values())


class Doubts:
    """Records that may be in the log: how many, of which partition, and with timestamps between when and when."""

    def __init__(self, bucket_ms: int) -> None:
        self._bucket_ms = bucket_ms
        self._counts: dict[tuple[str, int, int, int], int] = {}

    def add(self, topic: str, partition: int, from_ms: int, to_ms: int, count: int = 1) -> None:
        begin = min(from_ms, to_ms) // self._bucket_ms * self._bucket_ms
        end = (max(from_ms, to_ms) // self._bucket_ms + 1) * self._bucket_ms
        key = (topic, partition, begin, end)
        self._counts[key] = self._counts.get(key, 0) + count
        if len(self._counts) > MOST_UNSURE:
            self._coarsen()

    def told(self) -> tuple[Unsure, ...]:
        return tuple(Unsure(*key, count) for key, count in self._counts.items())

    def clear(self) -> None:
        self._counts = {}

    def _coarsen(self) -> None:
        whole: dict[tuple[str, int], tuple[int, int, int]] = {}
        for (topic, partition, begin, end), count in self._counts.items():
            b, e, n = whole.get((topic, partition), (begin, end, 0))
            whole[topic, partition] = (min(b, begin), max(e, end), n + count)
        self._counts = {(*where, begin, end): count for where, (begin, end, count) in whole.items()}
