"""Have the disk of one log directory stall: whoever writes there waits. Again and again for a while, or for good.

The file system is frozen, as for a snapshot: no write is refused, none is lost, each takes as long as it takes. `free_ms` is
what it gets to breathe between two stalls; 0: it stalls until it is healed.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults import dial
from chaos.faults.fault import Arena, CanBeBroken, called
from kernel.errors import NotReady, UsageError


@dataclass(frozen=True, slots=True)
class StallDisk:
    node: int
    directory: int = 1
    stall_ms: int = 500
    free_ms: int = 0
    kind: ClassVar[str] = "stall-disk"
    # Not part of the value: from when to when each stall lasted, by the clock of the evidence, and what put an end to them.
    stalls: list[tuple[int, int]] = field(default_factory=list, init=False, repr=False, compare=False)
    troubles: list[Exception] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.stall_ms < 1:
            raise UsageError("stall-disk: stall_ms is 0, and then nothing stalls: give more.", field="stall_ms")

    @property
    def sentence(self) -> str:
        long = f"for {self.stall_ms} ms at a time, {self.free_ms} ms apart" if self.free_ms else "and does not come back"
        return f"the disk of {called(self.node)} (log directory {self.directory}) stalls {long}"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        self.troubles.clear()
        try:
            began = self._freeze(arena.cluster)  # in this thread: what cannot stall is refused to whoever asked for it
            with self._stalling(arena.cluster, began):
                yield
        finally:
            arena.cluster.thaw_disk(self.node, self.directory)  # harmless if it is not frozen
        self._went_well()

    @contextmanager
    def _stalling(self, cluster: CanBeBroken, began: int) -> Iterator[None]:
        over = threading.Event()
        work = threading.Thread(target=self._stall, args=(cluster, began, over), daemon=True)
        work.start()
        try:
            yield
        finally:
            over.set()
            work.join()

    def _stall(self, cluster: CanBeBroken, began: int, over: threading.Event) -> None:
        """The disk is frozen when it begins. What goes wrong is kept: from this thread nobody would hear of it."""
        try:
            while True:
                over.wait(self.stall_ms / 1000 if self.free_ms else None)
                self.stalls.append((began, time.monotonic_ns()))
                cluster.thaw_disk(self.node, self.directory)
                if over.wait(self.free_ms / 1000):
                    return
                began = self._freeze(cluster)
        except Exception as trouble:
            self.troubles.append(trouble)

    def _freeze(self, cluster: CanBeBroken) -> int:
        cluster.freeze_disk(self.node, self.directory)
        return time.monotonic_ns()

    def _went_well(self) -> None:
        if self.troubles:
            raise self.troubles[0]

    def bite(self, arena: Arena) -> str:
        """A write of our own, which can take no longer than we look: it goes on by itself when the disk does."""
        least = self.stall_ms / 2000
        deadline = time.monotonic() + dial.PATIENCE_S
        while time.monotonic() < deadline:
            self._went_well()
            began = time.monotonic()
            writing = threading.Thread(target=_write, args=(arena.cluster, self.node, self.directory), daemon=True)
            writing.start()
            writing.join(least)
            if writing.is_alive():
                took = time.monotonic() - began
                where = f"log directory {self.directory} of {called(self.node)}"
                return f"a write of ours to {where} takes longer than {took:.2f} s"
        raise NotReady(f"no write to log directory {self.directory} of {called(self.node)} took as long as {least:.2f} s.")


def _write(cluster: CanBeBroken, node: int, directory: int) -> None:
    with suppress(Exception):  # how long it takes is all that is asked
        cluster.write_refused(node, directory)
