"""The runs of a folder, read once each, and again when they have changed.

Whatever lies there is no reason to stop: what cannot be read is counted, told once, and looked at again when it changes.
"""

import json
import logging
import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.report.shelf import folders
from kafka_trial.daemon.runs_told import Foreign, Told, Twins, told
from kernel.errors import UsageError

LOG = logging.getLogger("runs")
NAMES = ("manifest.json", "verdict.json")
LARGEST = 64 * 2**20  # bytes of a file: a verdict names no more than a hundred findings of a kind
LINES = 20  # of what cannot be read, in one look
Mark = tuple[tuple[int, int, int], ...]  # of both files: which one it is, when it was written, how long it is
Read = tuple[Mark, Told | str]  # or why it could not be read


@dataclass(slots=True)
class Shelf:
    """What was read of each run, and when it was written."""

    directory: Path
    twins: Twins
    read: dict[Path, Read] = field(default_factory=dict)
    unjudged: int = 0

    @property
    def runs(self) -> list[Told]:
        return [found for _, found in self.read.values() if isinstance(found, Told)]

    def look(self, ending: threading.Event) -> None:
        """Raises UsageError if there is no such folder."""
        try:
            os.scandir(self.directory).close()
        except OSError as trouble:
            why = trouble.strerror or "it cannot be read"
            raise UsageError(f"{self.directory} is no folder of runs: {why}.", value=str(self.directory)) from None
        known, self.read, self.unjudged = self.read, {}, 0
        for path in folders(self.directory):
            if ending.is_set():
                return
            self._one(path, known.get(path))
        _tell([f"{path}: {why}" for path, (_, why) in self.read.items() if _is_new(path, why, known)])

    def _one(self, path: Path, before: Read | None) -> None:
        mark: Mark = ()
        try:
            written = (path / "verdict.json").stat()
            files = ((path / "manifest.json").stat(), written)
            mark = tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in files)
            if before and before[0] == mark:
                self.read[path] = before
                return
            manifest, verdict = (_object(path / name, one) for name, one in zip(NAMES, files, strict=True))
            self.read[path] = (mark, told(manifest, verdict, self.twins, written.st_mtime))
        except FileNotFoundError as missing:
            if str(missing.filename).endswith("verdict.json"):
                self.unjudged += 1
            else:
                self.read[path] = (mark, "it has a verdict and no manifest.json")
        except (OSError, Foreign) as trouble:
            self.read[path] = (mark, getattr(trouble, "strerror", None) or str(trouble))


def _is_new(path: Path, found: Told | str, known: Mapping[Path, Read]) -> bool:
    """What cannot be read is told once."""
    return isinstance(found, str) and (path not in known or known[path][1] != found)


def _object(file: Path, found: os.stat_result) -> dict[str, Any]:
    if not stat.S_ISREG(found.st_mode):
        raise Foreign(f"{file.name} is no file")  # a pipe would be waited for
    if found.st_size > LARGEST:
        raise Foreign(f"{file.name} has {found.st_size} bytes: no run writes so many")
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise Foreign(f"{file.name} is not JSON, or only the beginning of it") from None
    if not isinstance(content, dict):
        raise Foreign(f"{file.name} holds {type(content).__name__}, not an object")
    return content


def _tell(troubles: list[str]) -> None:
    for trouble in troubles[:LINES]:
        LOG.warning("a run cannot be read: %s", trouble)
    if len(troubles) > LINES:
        LOG.warning("… and %d runs more cannot be read", len(troubles) - LINES)
