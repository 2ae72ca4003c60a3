"""What a producer is about to send, on disk before it does: what keeps a killed producer's records accounted for."""

import json
import os
import threading
from pathlib import Path
from typing import Any

AHEAD = 1000  # values announced at a time: at most so many are written down as unknown though they were never sent
WIDTH = 1024  # bytes of the facts, always all of them: they are overwritten in place, and a shorter text must leave no tail
CELL = 8  # bytes of a value in a list of them


def announcement(ledger: Path, client: str) -> Path:
    return ledger / f".{client}.announced"


class _Announced:
    def __init__(self, ledger: Path, facts: dict[str, Any]) -> None:
        self.run_id, self.client = str(facts["run_id"]), str(facts["client"])
        self._path, self._facts = announcement(ledger, self.client), facts
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)

    def _say(self, **more: Any) -> None:
        # One write in place: the page cache outlives a killed process, and that is all that is asked of it.
        os.pwrite(self._file, json.dumps({**self._facts, **more}).ljust(WIDTH).encode(), 0)

    def kept(self) -> None:
        """Every value has its row."""
        os.close(self._file)
        self._path.unlink(missing_ok=True)


class Announcement(_Announced):
    """Values that are counted up from `first`: it is enough to say how far."""

    def __init__(self, ledger: Path, *, run_id: str, client: str, first: int, topic: str | None, ahead: int = AHEAD) -> None:
        super().__init__(ledger, {"run_id": run_id, "client": client, "topic": topic, "first": first})
        self._limit, self._ahead, self._lock = first, ahead, threading.Lock()
        self.up_to(first + 1)

    def up_to(self, value: int) -> None:
        """Values below `value` may be sent after this."""
        if value > self._limit:
            with self._lock:
                if value > self._limit:
                    self._say(next=value + self._ahead)
                    self._limit = value + self._ahead  # not before it is on disk: another thread goes by it without the lock

    def sending(self, value: int) -> None:
        if value >= self._limit:
            self.up_to(value + 1)


class ListedValues(_Announced):
    """Values that the application chose, which are in no order: each is on disk before it is sent."""

    def __init__(self, ledger: Path, *, run_id: str, client: str) -> None:
        super().__init__(ledger, {"run_id": run_id, "client": client, "topic": None})
        self._say()
        os.lseek(self._file, WIDTH, os.SEEK_SET)

    def sending(self, value: int) -> None:
        os.write(self._file, value.to_bytes(CELL, "little", signed=True))


def announced(file: Path) -> tuple[dict[str, Any], range | list[int]]:
    """The facts, and every value that may have been sent."""
    content = file.read_bytes()
    facts: dict[str, Any] = json.loads(content[:WIDTH])
    if "first" in facts:
        return facts, range(facts["first"], facts["next"])
    cells = range(WIDTH, len(content) - CELL + 1, CELL)  # a last one that a kill cut off was not sent
    return facts, [int.from_bytes(content[at : at + CELL], "little", signed=True) for at in cells]
