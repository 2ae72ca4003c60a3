"""How far a producer is about to send, on disk before it does: what keeps a killed producer's records accounted for."""

import json
import os
from pathlib import Path

AHEAD = 1000  # values announced at a time: at most so many are written down as unknown though they were never sent


def announcement(ledger: Path, client: str) -> Path:
    return ledger / f".{client}.announced"


class Announcement:
    def __init__(self, ledger: Path, *, run_id: str, client: str, first: int, topic: str | None) -> None:
        self.client = client
        self._file = announcement(ledger, client)
        self._facts = {"run_id": run_id, "client": client, "topic": topic, "first": first}
        self._limit = first
        self.up_to(first + 1)

    def up_to(self, value: int) -> None:
        """Values below `value` may be sent after this."""
        if value <= self._limit:
            return
        self._limit = value + AHEAD
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps({**self._facts, "next": self._limit}))
        os.replace(draft, self._file)  # the page cache outlives a killed process, and that is all that is asked

    def kept(self) -> None:
        """Every value has its row."""
        self._file.unlink(missing_ok=True)
