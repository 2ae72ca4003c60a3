"""Where reports live: whole versions side by side, and one link that says which is the last good one.

    OUT/current → versions/12/   tables/<name>/date=…/*.parquet, state.json, and the pages
    OUT/index.html, report.json, … → current/…

A new version is built beside the others and becomes current by one rename. A crash, a full disk or an error at any moment
leaves what was there; what they leave behind is cleared away by the next report.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kernel.errors import SuiteError, UsageError
from spark_reports.frames import fields, nothing
from spark_reports.nightly.draft import Draft, linked, room
from spark_reports.nightly.durable import sync_folder

DOORS = ("index.html", "scenarios", "runs", "report.json", "summary.md")  # what people open; links into the current version
KEPT = 3  # versions, the current one too
FORMAT = 1  # of state.json and the tables
DRAFT, TABLES, STATE = ".draft", "tables", "state.json"


class Store:
    """Readers need no lock: what they were given stays whole until two newer versions are there."""

    def __init__(self, out: Path) -> None:
        self.out = Path(os.path.abspath(out))  # noqa: PTH100  (a link to the folder stays one)
        self.versions = self.out / "versions"

    def current(self) -> Path | None:
        link = self.out / "current"
        return link.resolve() if link.is_symlink() and link.is_dir() else None

    def table(self, spark: SparkSession, name: str, schema: str) -> DataFrame:
        """The rows of a table in the current version; none, if there is none yet."""
        current = self.current()
        return read_table(spark, current / TABLES / name if current else None, schema)

    def state(self) -> dict[str, Any]:
        """What the last writer left for the next: {} if there is none."""
        current = self.current()
        if current is None or not (current / STATE).exists():
            return {}
        try:
            state = json.loads((current / STATE).read_text())
            written = int(state["format"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SuiteError(f"{current / STATE} cannot be read: {error}. Point --out elsewhere, or mend it from a backup.")
        if written > FORMAT:
            raise UsageError(
                f"{current / STATE}: format {written} is newer than {FORMAT}, the newest this version reads: use the "
                "kafka-trial that wrote it, or another --out."
            )
        return dict(state)

    @contextmanager
    def draft(self, *, keep_pages: bool = True) -> Iterator[Draft]:
        """A version to be, with the tables of the current one; pages too, unless they are to be drawn anew.

        It becomes current by its `publish()`. Without that, or after an error, it is as if it had never been.
        """
        self._check()
        ours = not self.out.exists()
        with room(self.out):
            self.versions.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._clear()
                folder = self.versions / DRAFT
                try:
                    folder.mkdir()
                    self._fill(folder, keep_pages)
                    yield Draft(folder, self._publish)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
                    self._leave(ours)

    def _leave(self, ours: bool) -> None:
        """Nothing was ever published here: then nothing of ours stays."""
        if self.current() is None:
            with suppress(OSError):
                self.versions.rmdir()
                (self.out / ".lock").unlink(missing_ok=True)
                if ours:
                    self.out.rmdir()

    def _check(self) -> None:
        """Nothing that is not ours is written over."""
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out} is a file, not a directory: give another with --out.", value=str(self.out))
        for name in ("current", *DOORS):
            door = self.out / name
            if door.exists() and not door.is_symlink():
                raise UsageError(
                    f"{door} is there, and no report wrote it: give an empty directory, or one of reports, with --out.",
                    value=str(self.out),
                )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        lock = FileLock(self.out / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise SuiteError(f"Another report is being written to {self.out}: wait until it is done, or use another --out.")
        try:
            yield
        finally:
            lock.release()

    def _clear(self) -> None:
        """What a crash left: drafts, and versions that never became current."""
        current = self.current()
        newest = int(current.name) if current else 0
        for path in self.versions.iterdir():
            if not path.name.isdecimal() or not newest - KEPT < int(path.name) <= newest:
                shutil.rmtree(path, ignore_errors=True)
        if current:
            self._open_doors()

    def _fill(self, folder: Path, keep_pages: bool) -> None:
        current = self.current()
        if current is None:
            return
        for part in current.iterdir():
            if keep_pages or part.name in (TABLES, STATE):
                linked(part, folder / part.name)

    def _publish(self, folder: Path) -> Path:
        current = self.current()
        number = int(current.name) + 1 if current else 1
        version = self.versions / str(number)
        folder.rename(version)
        sync_folder(self.versions)
        self._link("current", f"versions/{number}")
        sync_folder(self.out)
        self._open_doors()
        self._clear()
        return version

    def _open_doors(self) -> None:
        for name in DOORS:
            door = self.out / name
            if not door.is_symlink():
                self._link(name, f"current/{name}")

    def _link(self, name: str, target: str) -> None:
        """Whatever was there before is there until the new one is."""
        fresh = self.out / f".{name}.new"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        fresh.replace(self.out / name)


def read_table(spark: SparkSession, folder: Path | None, schema: str | StructType) -> DataFrame:
    if folder is None or not folder.is_dir() or not any(folder.iterdir()):
        return nothing(spark, schema)
    rows = spark.read.schema(fields(schema)).parquet(str(folder))
    return rows.select(*(f"`{name}`" for name in fields(schema).names))  # a date is the last column, wherever it was
