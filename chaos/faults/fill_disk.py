"""Fill the disk of one log directory to the last byte, and make room again.

A broker gives up a directory at the first write that fails there, and does not come back to it by itself: it is restarted
once there is room, as an operator would.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.disks_seen import refused
from chaos.faults.fault import Arena, called


@dataclass(frozen=True, slots=True)
class FillDisk:
    node: int
    directory: int = 1
    kind: ClassVar[str] = "fill-disk"

    @property
    def sentence(self) -> str:
        return f"the disk of {called(self.node)} (log directory {self.directory}) is full"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.fill_disk(self.node, self.directory)
            yield
        finally:
            arena.cluster.mend_disk(self.node, self.directory)

    def bite(self, arena: Arena) -> str:
        return refused(arena.cluster, self.node, self.directory, "No space left on device")
