"""All runs under one directory: what is there, and which of it may go.

`chosen` is pure and decides; finding and removing are apart from it. Nothing here follows a symbolic link, and only a
folder that lies at `<date>/<scenario>/<run_id>` and has a readable manifest.json is ever removed.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from chaos.report.words import gap_of, longest_gap, lost
from kernel.errors import SuiteError, UsageError

SIGNS = (
    "manifest.json",
    "verdict.json",
    "events.jsonl",
    "ledger",
)  # one of them makes a folder a run, or what is left of one
STILL_RUNNING = timedelta(hours=1)  # without a verdict and written to so lately: perhaps not over
AGES = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True, slots=True)
class Entry:
    """One run on the shelf. `trouble` says why it cannot be read; then little else is known."""

    path: Path
    scenario: str
    run_id: str
    started: datetime
    touched: datetime
    size: int
    verdict: str | None = None  # None: no verdict yet
    acknowledged: int | None = None
    lost: int | None = None
    gap: str | None = None
    trouble: str | None = None

    @property
    def standing(self) -> str:
        return "damaged" if self.trouble else self.verdict or "no verdict"


@dataclass(frozen=True, slots=True)
class Criteria:
    keep: int | None = None
    older_than: timedelta | None = None
    max_size: int | None = None


def entries(runs: Path) -> list[Entry]:
    """Newest first. A damaged run is an entry too: one bad folder must not hide the others."""
    if not runs.is_dir():
        raise UsageError(f"{runs} is not a directory: give the one that holds the runs with --runs.", value=str(runs))
    return sorted((_entry(path) for path in folders(runs)), key=lambda entry: (entry.started, entry.run_id), reverse=True)


def chosen(shelf: list[Entry], criteria: Criteria, now: datetime) -> list[Entry]:
    """What may go, oldest first.

    `keep` and `older_than` spare the newest failing run of each scenario, because somebody will ask for it. A limit of
    size is a limit: it takes what passed first, then the rest, until the shelf fits.
    """
    settled = [entry for entry in shelf if not entry.trouble and not _running(entry, now)]
    spared = _newest_failures(settled)
    going = {entry.path for entry in _beyond(settled, criteria.keep)}
    if criteria.older_than is not None:
        going |= {entry.path for entry in settled if now - entry.started > criteria.older_than}
    going -= spared
    if criteria.max_size is not None:
        going |= _too_much(shelf, settled, going, criteria.max_size)
    return sorted((entry for entry in settled if entry.path in going), key=lambda entry: entry.started)


def remove(runs: Path, entry: Entry) -> None:
    """The manifest goes last: if this is interrupted, the rest is still known as a run and can be pruned again."""
    manifest = entry.path / "manifest.json"
    if not _inside(runs, entry.path) or not manifest.is_file():
        raise SuiteError(f"{entry.path} is not a run folder inside {runs} any more: nothing of it was removed.")
    try:
        for part in entry.path.iterdir():
            if part != manifest:
                shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()
        manifest.unlink()
        entry.path.rmdir()
    except OSError as error:
        raise SuiteError(f"{entry.path} could not be removed altogether: {error}.")
    for parent in (entry.path.parent, entry.path.parent.parent):
        if parent != runs and not any(parent.iterdir()):
            parent.rmdir()


def parse_age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", text.strip().lower())
    if not match or float(match[1]) > 100_000:
        raise UsageError(f"age {text!r} is not understood: give a number and m, h, d or w, such as 14d.", value=text)
    return timedelta(**{AGES[match[2]]: float(match[1])})


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise UsageError(f"size {text!r} is not understood: give a number and k, m, g or t, such as 10g.", value=text)
    return int(float(match[1]) * SIZES[match[2]])


def human_size(size: int) -> str:
    for limit, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} B"


def folders(runs: Path) -> Iterator[Path]:
    """Whatever is a run, or what is left of one."""
    level = [runs]
    for _ in range(3):
        level = [Path(entry.path) for folder in level for entry in _inner(folder)]
    yield from (path for path in level if any(_has(path, sign) for sign in SIGNS))


def _has(path: Path, sign: str) -> bool:
    try:
        return (path / sign).exists()
    except PermissionError:  # somebody's run, which the list shows as one that cannot be read
        return True


def _inner(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
    except (PermissionError, FileNotFoundError):  # not found: it was pruned just now
        return []


def _entry(path: Path) -> Entry:
    size, touched = _weighed(path)
    facts: dict[str, Any] = {}
    try:
        folder = RunFolder(path)
        manifest = folder.manifest()
        started = _moment(manifest.get("started"), path, touched)
        facts = {
            "scenario": str(manifest.get("scenario", path.parent.name)),
            "run_id": str(manifest.get("run_id", path.name)),
        }
        facts |= _judged(folder.verdict()) if (path / "verdict.json").exists() else {}
    except (SuiteError, ValueError, TypeError, AttributeError, LookupError) as error:
        started, facts = touched, {"scenario": path.parent.name, "run_id": path.name, "trouble": str(error) or "unreadable"}
    return Entry(path=path, started=started, touched=touched, size=size, **facts)


def _judged(verdict: dict[str, Any]) -> dict[str, Any]:
    gap = longest_gap(verdict)
    return {
        "verdict": str(verdict["verdict"]) if "verdict" in verdict else None,
        "acknowledged": verdict.get("acknowledged"),
        "lost": lost(verdict),
        "gap": gap_of(gap) if gap else None,
    }


def _moment(text: object, path: Path, otherwise: datetime) -> datetime:
    if text is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise UsageError(f"{path / 'manifest.json'}: started is {text!r}, not a time.")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _weighed(path: Path) -> tuple[int, datetime]:
    """What it takes on disk, and when anything in it was last written; links are not followed."""
    size, latest = 0, path.lstat().st_mtime
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                seen = (Path(folder) / name).lstat()
            except FileNotFoundError:  # a run that is still being written
                continue
            size, latest = size + seen.st_blocks * 512, max(latest, seen.st_mtime)
    return size, datetime.fromtimestamp(latest, UTC)


def _running(entry: Entry, now: datetime) -> bool:
    return entry.verdict is None and now - entry.touched < STILL_RUNNING


def _newest_failures(settled: list[Entry]) -> set[Path]:
    newest: dict[str, Entry] = {}
    for entry in settled:
        if entry.verdict == "FAIL" and (entry.scenario not in newest or entry.started > newest[entry.scenario].started):
            newest[entry.scenario] = entry
    return {entry.path for entry in newest.values()}


def _beyond(settled: list[Entry], keep: int | None) -> list[Entry]:
    if keep is None:
        return []
    scenarios: dict[str, list[Entry]] = {}
    for entry in sorted(settled, key=lambda entry: entry.started, reverse=True):
        scenarios.setdefault(entry.scenario, []).append(entry)
    return [entry for runs in scenarios.values() for entry in runs[keep:]]


def _too_much(shelf: list[Entry], settled: list[Entry], going: set[Path], limit: int) -> set[Path]:
    left = sum(entry.size for entry in shelf if entry.path not in going)
    more: set[Path] = set()
    for entry in sorted(settled, key=lambda entry: (entry.verdict != "PASS", entry.started)):
        if left <= limit:
            break
        if entry.path not in going:
            more.add(entry.path)
            left -= entry.size
    return more


def _inside(runs: Path, path: Path) -> bool:
    """Really there: three real directories below, none of them a link that came in meanwhile."""
    real = runs.resolve()
    return path.resolve().is_relative_to(real) and path.resolve() == real / path.relative_to(runs)
