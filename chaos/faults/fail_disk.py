"""Have the disk of one log directory fail: it turns read-only under the broker, and what was not flushed is gone.

That is what ext4 does by itself when it finds an error on a dying disk. A broker gives the directory up at the next write.
Afterwards the disk is checked, mounted again, and the broker restarted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.disks_seen import refused
from chaos.faults.fault import Arena, called


@dataclass(frozen=True, slots=True)
class FailDisk:
    node: int
    directory: int = 1
    kind: ClassVar[str] = "fail-disk"

    @property
    def sentence(self) -> str:
        return f"the disk of {called(self.node)} (log directory {self.directory}) fails and turns read-only"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        try:
            arena.cluster.fail_disk(self.node, self.directory)
            yield
        finally:
            arena.cluster.mend_disk(self.node, self.directory)

    def bite(self, arena: Arena) -> str:
        return refused(arena.cluster, self.node, self.directory, "Read-only file system")
