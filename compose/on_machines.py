"""The machine under a node: its disks, which fill up, fail and stall, and its clock, which can be set.

Only where nodes are processes of this machine; in containers each of these verbs is refused in a sentence.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from compose.plan import ClusterPlan
from compose.provider import Provider
from compose.spec import ClusterSpec
from compose.view import ClusterView
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError
from kernel.waiting import wait_until


class OnMachines(ABC):
    spec: ClusterSpec
    view: ClusterView
    _plan: ClusterPlan
    _provider: Provider

    @property
    @abstractmethod
    def provider(self) -> str: ...

    @property
    @abstractmethod
    def direct_address(self) -> ClusterAddress: ...

    @abstractmethod
    def start(self, broker: int, *, wait: bool = True) -> None: ...

    @abstractmethod
    def stop(self, broker: int) -> None: ...

    @abstractmethod
    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication: int | None = None,
        config: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None: ...

    @abstractmethod
    def _known(self, node: int) -> None: ...

    def log_dir(self, node: int, directory: int = 1) -> Path:
        """A node's log directory as a folder of this machine; the first also has the metadata log."""
        self._known(node)
        if self.provider != "processes":
            raise UsageError(f"the log directory of node {node} is inside its container: use --provider processes.")
        return Path(self._provider.place(node).log_dirs(self.spec.log_dirs)[directory - 1])

    def partition_folder(self, node: int, topic: str, partition: int = 0) -> Path:
        """Where a node keeps the segments of one partition, in whichever of its log directories."""
        folders = [self.log_dir(node, number) / f"{topic}-{partition}" for number in range(1, self.spec.log_dirs + 1)]
        for folder in folders:
            if folder.is_dir():
                return folder
        raise UsageError(f"{topic}-{partition} has no replica on broker {node}: choose one of its replicas.", node=node)

    def fill_disk(self, node: int, directory: int = 1) -> int:
        """Leave no byte free where a log directory is. Returns how many bytes that took."""
        from compose.disks import fill

        return fill(self._disk(node, directory))

    def fail_disk(self, node: int, directory: int = 1) -> None:
        """The disk finds an error: it is read-only from now on, and what was not flushed is lost."""
        from compose.disks import fail

        fail(self._ext4(node, directory, "fail"))

    def mend_disk(self, node: int, directory: int = 1) -> None:
        """Room is made on a disk that was full, one that failed is checked and mounted again; then its broker is restarted,
        because a broker never takes back by itself a directory that it has given up."""
        from compose.disks import make_room, mend

        disk = self._disk(node, directory)
        self.stop(node)
        if self._kind(node, directory) == "ext4":
            mend(disk)
        make_room(disk)  # only now: nothing can be removed from a disk that is read-only
        self.start(node)

    def freeze_disk(self, node: int, directory: int = 1) -> None:
        """Every write to a log directory waits until its disk is thawed."""
        from compose.disks import freeze

        freeze(self._ext4(node, directory, "stall"))

    def thaw_disk(self, node: int, directory: int = 1) -> None:
        from compose.disks import thaw

        thaw(self._disk(node, directory))

    def flush_disk(self, node: int, directory: int = 1) -> None:
        """What was written to a log directory is on its disk afterwards, and would survive its failure."""
        from compose.disks import flush

        flush(self._disk(node, directory))

    def write_refused(self, node: int, directory: int = 1) -> str:
        """What a write to a log directory is refused with, as we see it; "" if it is not."""
        from compose.disks import write_refused

        return write_refused(self.log_dir(node, directory))

    def _disk(self, node: int, directory: int) -> Path:
        folder = self.log_dir(node, directory)
        if not folder.is_mount():
            raise UsageError(
                f"log directory {directory} of node {node} has no disk of its own: start with disks=(Disk({node}),)."
            )
        return folder

    def _ext4(self, node: int, directory: int, to: str) -> Path:
        """A disk that has what tmpfs lacks: errors of its own, and a way to be frozen (FIFREEZE is EOPNOTSUPP there)."""
        disk, kind = self._disk(node, directory), self._kind(node, directory)
        if kind != "ext4":
            raise UsageError(
                f"the disk of log directory {directory} of node {node} is a {kind}, which cannot {to}: start with "
                f'disks=(Disk({node}, {directory}, kind="ext4"),).',
                node=node,
            )
        return disk

    def _kind(self, node: int, directory: int) -> str:
        return next(disk.kind for disk in self.spec.disks if (disk.node, disk.directory) == (node, directory))

    def set_clock(self, node: int, seconds: int) -> None:
        """Set a node's clock so many seconds ahead of the machine's, or behind; 0 sets it right."""
        from compose.clocks import set_clock

        self._known(node)
        if node not in self.spec.clocks:
            raise UsageError(f"the clock of node {node} cannot be set: start the cluster with clocks=({node},).", node=node)
        self._plan.skews[node] = seconds
        set_clock(Path(self._provider.place(node).home), seconds)

    def clock_of(self, broker: int) -> float:
        """How many seconds a broker's clock is ahead of ours, by the time it puts on a record."""
        from compose.admin import append_time

        canary = f"clock-of-{broker}"
        if canary not in self.view.topics():  # asked of a broker: the active controller may be the one whose clock jumps
            self.create_topic(canary, assignment=[[broker]], config={"message.timestamp.type": "LogAppendTime"})
        return append_time(self.direct_address, canary) - time.time()

    def wait_clock_right(self, broker: int) -> None:
        wait_until(
            lambda: self.clock_of(broker),
            lambda ahead: abs(ahead) < 5,
            what=f"the clock of broker {broker} right",
            timeout=30,
        )
