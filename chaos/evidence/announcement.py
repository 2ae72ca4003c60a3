"""How far a producer is about to send, on disk before it does: what keeps a killed producer's records accounted for."""

import json
import os
from pathlib import Path

AHEAD = 1000  # values announced at a time: at most so many are written down as unknown though they were never sent
WIDTH = 1024  # bytes of the file, always all of them: it is overwritten in place, and a shorter text must not leave a tail


def announcement(ledger: Path, client: str) -> Path:
    return ledger / f".{client}.announced"


class Announcement:
    def __init__(self, ledger: Path, *, run_id: str, client: str, first: int, topic: str | None, ahead: int = AHEAD) -> None:
        self.run_id, self.client = run_id, client
        self._path = announcement(ledger, client)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._facts = {"run_id": run_id, "client": client, "topic": topic, "first": first}
        self._limit, self._ahead = first, ahead
        self.up_to(first + 1)

    def up_to(self, value: int) -> None:
        """Values below `value` may be sent after this."""
        if value > self._limit:
            self._limit = value + self._ahead
            # One write in place: the page cache outlives a killed process, and that is all that is asked of it.
            os.pwrite(self._file, json.dumps({**self._facts, "next": self._limit}).ljust(WIDTH).encode(), 0)

    def kept(self) -> None:
        """Every value has its row."""
        os.close(self._file)
        self._path.unlink(missing_ok=True)
