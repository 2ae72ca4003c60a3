"""Reports on disk, until they are delivered: what a killed process had counted is sent by the next one, under its name.

One file for each report, written beside and moved into place; a lock on `<life>.lock` says that its life goes on. The report
in the making has its file too, overwritten every second or so.
"""

import fcntl
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from interceptors.audit.report import NoReport, Report, decode

LOG = logging.getLogger("interceptors.audit")
_FILE = re.compile(r"(?P<life>[0-9a-f]{16})-(?P<seq>\d{10})\.json")


class Spool:
    def __init__(self, folder: Path, life: str) -> None:
        self._folder, self._life = folder, life
        self._lock = self._locked(life)

    def save(self, seq: int, message: bytes) -> None:
        """On disk before it is sent; the process may die at any moment, the machine is trusted (no fsync)."""
        file = self._file(self._life, seq)
        beside = file.with_suffix(f".{os.getpid()}.tmp")
        beside.write_bytes(message)
        beside.replace(file)

    def forget(self, life: str, seq: int) -> None:
        self._file(life, seq).unlink(missing_ok=True)

    def left(self) -> Iterator[tuple[Report, bytes]]:
        """What lives that are over have left, oldest first. Damaged files are put aside."""
        lives = sorted({match["life"] for file in self._folder.iterdir() if (match := _FILE.fullmatch(file.name))})
        for life in lives:
            if life == self._life or (lock := self._locked(life)) is None:
                continue
            try:
                yield from self._reports(life)
            finally:
                lock.close()

    def over(self, life: str) -> None:
        """Nothing of that life is left."""
        if not any(self._folder.glob(f"{life}-*.json")):
            (self._folder / f"{life}.lock").unlink(missing_ok=True)

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            self.over(self._life)

    def abandon(self) -> None:
        """In the child of a fork: the lock stays the parent's, and ends with the parent."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _reports(self, life: str) -> Iterator[tuple[Report, bytes]]:
        for file in sorted(self._folder.glob(f"{life}-*.json")):
            message = file.read_bytes()
            try:
                yield decode(message), message
            except NoReport as trouble:
                LOG.warning("%s is no report of an audit and is put aside: %s", file, trouble)
                file.replace(file.with_suffix(".damaged"))

    def _locked(self, life: str) -> IO[bytes] | None:
        file = (self._folder / f"{life}.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file

    def _file(self, life: str, seq: int) -> Path:
        return self._folder / f"{life}-{seq:010d}.json"
