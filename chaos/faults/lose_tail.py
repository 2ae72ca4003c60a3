"""Kill one broker, and take from its disk what it had not flushed: the end of one partition's log.

A process that is killed leaves its page cache behind, so SIGKILL alone loses nothing that was written. A machine that loses
power does lose it. So while the broker is down its newest segment is cut, as if those pages had never reached the disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from chaos.faults.fault import Arena, called
from chaos.faults.nodes_seen import gone
from chaos.segments import cut_before, end_offset
from kernel.errors import NotReady, UsageError

MARKER = ".kafka_cleanshutdown"


@dataclass(frozen=True, slots=True)
class LoseTail:
    node: int
    topic: str
    partition: int
    offset: int  # the first that is lost
    kind: ClassVar[str] = "lose-tail"
    # Not part of the value: how long the segment was, for the probe to compare with.
    _before: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sentence(self) -> str:
        where = f"{self.topic}-{self.partition}"
        return (
            f"{called(self.node)} is killed (SIGKILL) and loses {where} from offset {self.offset} on, which was not flushed"
        )

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        segment = self._segment(arena)  # before anything is done: it may be out of reach
        try:
            arena.cluster.kill(self.node)
            self._before[:] = [segment.stat().st_size]
            if not arena.cluster.running(self.node):  # under a living broker's feet it would be another fault
                _cut(segment, self.offset)
            yield
        finally:
            arena.cluster.start(self.node)

    def bite(self, arena: Arena) -> str:
        seen, segment = gone(arena.cluster, self.node), self._segment(arena)
        now, before = segment.stat().st_size, self._before[0] if self._before else 0
        end = end_offset(segment.read_bytes())
        if now >= before or (end is not None and end > self.offset):
            raise NotReady(f"{segment.name} of {called(self.node)} has {now} bytes of {before} and ends at offset {end}.")
        return f"{seen}; {segment.name} had {before} bytes and has {now}, its last batch ends at offset {end}"

    def _segment(self, arena: Arena) -> Path:
        folder = arena.cluster.partition_folder(self.node, self.topic, self.partition)
        newest = max(folder.glob("*.log"), default=None)
        if newest is None or int(newest.stem) > self.offset:
            raise UsageError(f"offset {self.offset} is not in the newest segment of {folder.name}: give one that is.")
        return newest


def _cut(segment: Path, offset: int) -> None:
    """Indexes point beyond the cut, so they go: Kafka makes them anew when it finds that it was not shut down."""
    place = cut_before(segment.read_bytes(), offset)
    with segment.open("r+b") as log:
        log.truncate(place)
    for index in (*segment.parent.glob("*.index"), *segment.parent.glob("*.timeindex")):
        index.unlink()
    (segment.parent.parent / MARKER).unlink(missing_ok=True)
