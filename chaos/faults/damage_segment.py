"""Damage one replica's newest segment while its broker is down: a bit turned over in a batch, or the end cut off.

`hard`: the broker is killed, so it checks what it finds when it starts again. Otherwise it is stopped, has said that all
is well, and will not look.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from chaos import segments
from chaos.faults.fault import Arena, called
from kernel.errors import NotReady, UsageError


@dataclass(frozen=True, slots=True)
class DamageSegment:
    node: int
    topic: str
    partition: int
    offset: int
    how: str = "corrupt"
    hard: bool = True
    kind: ClassVar[str] = "damage-segment"

    def __post_init__(self) -> None:
        if self.how not in ("corrupt", "truncate"):
            raise UsageError(f"damage-segment: how is {self.how!r}, not corrupt or truncate.", field="how")

    @property
    def sentence(self) -> str:
        where = f"{self.topic}-{self.partition} at offset {self.offset}"
        done = "a bit is turned over in" if self.how == "corrupt" else "cut off is the segment of"
        return f"{called(self.node)} is {'killed' if self.hard else 'stopped'}, and {done} its {where}"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            (arena.cluster.kill if self.hard else arena.cluster.stop)(self.node)
            file = self._segment(arena)
            harm = segments.corrupted if self.how == "corrupt" else segments.cut
            file.write_bytes(harm(file.read_bytes(), self.offset))
            yield
        finally:
            arena.cluster.start(self.node)

    def bite(self, arena: Arena) -> str:
        data = self._segment(arena).read_bytes()
        ends = max((batch.last_offset for batch in segments.batches(data)), default=-1)
        if self.how == "truncate" and ends < self.offset:
            return f"the segment of {called(self.node)} ends in offset {ends}, and a piece of a batch"
        hit = [batch for batch in segments.broken(data) if batch.base_offset <= self.offset <= batch.last_offset]
        if self.how == "corrupt" and hit:
            return f"the checksum of offsets {hit[0].base_offset}-{hit[0].last_offset} on {called(self.node)} does not hold"
        raise NotReady(f"the segment of {called(self.node)} is not damaged at offset {self.offset}.")

    def _segment(self, arena: Arena) -> Path:
        """The newest that begins at or before the offset."""
        folder = arena.cluster.partition_folder(self.node, self.topic, self.partition)
        return max(file for file in folder.glob("*.log") if int(file.stem) <= self.offset)
