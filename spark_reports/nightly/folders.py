"""Which run folders there are, and what each looks like from outside: enough to know whether it was read before.

`runs/<date>/<scenario>/<run_id>/`, as runs are written. Links are not followed; what begins with a dot is nobody's run.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR

from kernel.errors import UsageError

SIGNS = (
    "manifest.json",
    "verdict.json",
    "events.jsonl",
    "ledger",
)  # one of them makes a folder a run, or what is left of one


@dataclass(frozen=True, slots=True)
class RunFound:
    """`there` are the SIGNS it has, `denied` those that may not be read. `mark` changes when one was written again."""

    folder: str
    there: frozenset[str]
    denied: frozenset[str]
    mark: str


def run_folders(runs: Path, *, but: Path | None = None) -> list[RunFound]:
    """In order of name. `but` is a folder whose inside holds no runs, such as the report's own."""
    if not runs.is_dir():
        raise UsageError(f"{runs} is not a directory: give the one that holds the runs with --runs.", value=str(runs))
    left_out = os.path.realpath(but) if but else ""
    level = [os.path.realpath(runs)]
    for _ in range(3):
        level = [inner for folder in level for inner in _inner(folder) if inner != left_out]
    return [found for found in map(_looked_at, sorted(level)) if found.there or found.denied]


def _inner(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from [e.path for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)]
    except (PermissionError, FileNotFoundError):  # somebody else's, or just pruned
        return


def _looked_at(folder: str) -> RunFound:
    there, denied, seen = set[str](), set[str](), list[str]()
    for name in SIGNS:
        path = f"{folder}/{name}"
        for file in [path, *(_files(path) if name == "ledger" else ())]:
            try:
                state = Path(file).stat()
            except OSError:  # not there, or no longer
                continue
            (there if os.access(file, os.R_OK) else denied).add(name)
            seen.append(f"{file}|{'' if S_ISDIR(state.st_mode) else state.st_size}|{state.st_mtime_ns}")
    mark = blake2b("\n".join(seen).encode(errors="surrogateescape"), digest_size=12).hexdigest()
    return RunFound(folder, frozenset(there), frozenset(denied), mark)


def _files(ledger: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(ledger))
    except OSError:
        return []
