"""The admin calls in a process of their own: when a coordinator dies under a call, librdkafka may end the process that made
it (an assertion fails: librdkafka#4605 and #3663, open as of 2.16). Here that is a call that failed, and the next is made
by a new process with a new client. It ends with ours, however ours ends.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Concatenate, ParamSpec, TypeVar

from kernel.cluster import ClusterAddress
from kernel.errors import CollectionFailed
from lag_monitor.sources.admin import LATEST, UNCOMMITTED_READS, ClusterAdmin, Described, Listed, Partition

CRASHED = "_CRASHED"
HANGS = 300.0  # seconds: every call has its own time; whoever needs more than this has lost his way
P = ParamSpec("P")
T = TypeVar("T")


class AdminApart:
    """Asked as a `ClusterAdmin` is, one question at a time."""

    def __init__(self, address: ClusterAddress, settings: Mapping[str, Any], timeout: float) -> None:
        self._told = (address, dict(settings), timeout)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self.errors: Counter[str] = Counter()

    def topics(self) -> dict[str, int]:
        return self._ask(ClusterAdmin.topics)

    def topic_ids(self, names: Sequence[str]) -> tuple[dict[str, bytes], set[str]]:
        return self._ask(ClusterAdmin.topic_ids, list(names))

    def offsets(
        self, partitions: Sequence[Partition], spec: str | float = LATEST, isolation: str = UNCOMMITTED_READS
    ) -> dict[Partition, int]:
        return self._ask(ClusterAdmin.offsets, list(partitions), spec, isolation)

    def offsets_at(self, times: Mapping[Partition, float]) -> dict[Partition, int]:
        return self._ask(ClusterAdmin.offsets_at, dict(times))

    def groups(self) -> dict[str, Listed]:
        return self._ask(ClusterAdmin.groups)

    def describe(self, groups: Sequence[str]) -> dict[str, Described]:
        return self._ask(ClusterAdmin.describe, list(groups)) if groups else {}

    def commits(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        return self._ask(ClusterAdmin.commits, list(groups))

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()  # there is nothing in it that would have to be put in order
            self._process.wait()
        self._process = self._pipe = None

    def _ask(self, method: "Callable[Concatenate[ClusterAdmin, P], T]", *args: P.args, **named: P.kwargs) -> T:
        try:
            pipe = self._pipe or self._start()
            pipe.send((method.__name__, args, named))
            if not pipe.poll(HANGS):
                raise EOFError
            told, failure, errors = pipe.recv()
        except (OSError, EOFError):
            self.close()
            self.errors[CRASHED] += 1
            raise CollectionFailed("the process that asks the cluster ended; there is a new one.", reason=CRASHED) from None
        self.errors.update(errors)
        if failure is not None:
            raise CollectionFailed(failure[0], reason=failure[1])
        answered: T = told
        return answered

    def _start(self) -> "Connection[Any, Any]":
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lag_monitor.sources.apart", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # an assertion's words mean nothing to whoever reads the log
            )
        self._pipe.send(self._told)  # and not on the command line, which everybody may read: there is a password in it
        return self._pipe


def answer(pipe: "Connection[Any, Any]") -> None:
    """Until nobody asks any more."""
    address, settings, timeout = pipe.recv()
    admin = ClusterAdmin(address, settings, timeout, time.monotonic)
    while True:
        name, args, named = pipe.recv()
        admin.errors.clear()
        told, failure = None, None
        try:
            told = getattr(admin, name)(*args, **named)
        except CollectionFailed as failed:
            failure = (failed.message, failed.facts.get("reason", ""))
        except Exception as trouble:  # ours, or one of librdkafka's that nobody expects: told as one that failed
            failure = (f"the cluster could not be asked: {trouble!r}.", type(trouble).__name__)
        pipe.send((told, failure, dict(admin.errors)))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
    with suppress(EOFError, OSError), Connection(int(sys.argv[1])) as pipe:
        answer(pipe)
