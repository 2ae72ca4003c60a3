"""The outbox's file: SQLite, one transaction for each change, on the disk before anything is sent.

A file that cannot be read as ours is put aside, never overwritten. Whatever else the disk does is `StoreFailed`.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel.errors import SuiteError, UsageError
from lag_monitor.alerts import records
from lag_monitor.alerts.incidents import Incident
from lag_monitor.alerts.queue import Chain, Done, Row

log = logging.getLogger(__name__)
VERSION = 1  # of the tables
TABLES = """
CREATE TABLE IF NOT EXISTS incidents (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue (
    number INTEGER PRIMARY KEY, channel TEXT NOT NULL, body TEXT NOT NULL,
    queued_at REAL NOT NULL, tries INTEGER NOT NULL, next_try REAL NOT NULL);
CREATE TABLE IF NOT EXISTS done (
    incident TEXT NOT NULL, channel TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (incident, channel)) WITHOUT ROWID;
"""


class StoreFailed(SuiteError):
    pass


@dataclass(frozen=True, slots=True)
class Book:
    """Everything that must outlive us."""

    incidents: Mapping[str, Incident] = field(default_factory=dict)
    rows: Mapping[int, Row] = field(default_factory=dict)
    done: Mapping[Chain, Done] = field(default_factory=dict)


class Store:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._written = Book()

    def open(self) -> Book:
        """What is in the file. StoreFailed if the disk does not let us, UsageError if another process has it."""
        self.close()
        try:
            self._written = self._opened()
        except _Broken as trouble:
            self.close()
            self._put_aside(str(trouble))
            self._written = self._opened()
        return self._written

    def write(self, book: Book) -> None:
        """What differs from what was last read or written, in one transaction."""
        connection = self._connection
        if connection is None:
            raise StoreFailed(f"the outbox {self.path} is not open.")
        try:
            with connection:  # commits, or rolls back
                connection.execute("BEGIN IMMEDIATE")
                self._write_changes(connection, book)
        except sqlite3.Error as trouble:
            self.close()
            raise StoreFailed(f"the outbox {self.path} cannot be written: {trouble}.") from None
        self._written = book

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):  # a full disk: what was committed is safe in the log beside the file
                self._connection.close()
            self._connection = None

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def _opened(self) -> Book:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Used by several threads, never by two at a time: the outbox has a lock.
            connection = sqlite3.connect(self.path, timeout=1.0, check_same_thread=False, isolation_level=None)
        except (OSError, sqlite3.Error) as trouble:
            raise StoreFailed(f"the outbox {self.path} cannot be opened: {trouble}.") from None
        self._connection = connection
        try:
            _prepare(connection)
            return _read(connection)
        except (sqlite3.OperationalError, OSError) as trouble:
            self.close()
            if "locked" in str(trouble):
                raise UsageError(
                    f"the outbox {self.path} is in use: another process sends from it, and both would send all."
                ) from None
            raise StoreFailed(f"the outbox {self.path} cannot be opened: {trouble}.") from None
        except sqlite3.DatabaseError as trouble:
            raise _Broken(str(trouble)) from None
        except (ValueError, KeyError, TypeError, AttributeError) as trouble:
            raise _Broken(f"{type(trouble).__name__}: {trouble}") from None

    def _put_aside(self, why: str) -> None:
        aside = self.path.with_name(f"{self.path.name}.broken-{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**9:09}")
        try:
            for end in ("", "-wal", "-shm"):
                part = self.path.with_name(self.path.name + end)
                if part.exists():
                    part.rename(aside.with_name(aside.name + end))
        except OSError as trouble:
            raise StoreFailed(f"the outbox {self.path} is broken and cannot be put aside: {trouble.strerror}.") from None
        log.error("the outbox %s is broken (%s): it is kept as %s, and a new one is begun", self.path, why, aside.name)

    def _write_changes(self, connection: sqlite3.Connection, book: Book) -> None:
        before = self._written
        tables: list[tuple[str, tuple[str, ...], Mapping[Any, Any], Mapping[Any, Any]]] = [
            ("incidents", ("id",), before.incidents, book.incidents),
            ("queue", ("number",), before.rows, book.rows),
            ("done", ("incident", "channel"), before.done, book.done),
        ]
        for table, key, old, new in tables:
            where = " AND ".join(f"{column} = ?" for column in key)
            gone = [one for one in old if one not in new]
            changed = {one: value for one, value in new.items() if old.get(one) is not value}
            # The names are those above and nobody else's.
            connection.executemany(
                f"DELETE FROM {table} WHERE {where}",  # noqa: S608
                [one if isinstance(one, tuple) else (one,) for one in gone],
            )
            for one, value in changed.items():
                columns = _columns(one, value)
                marks = ", ".join("?" * len(columns))
                connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", columns)  # noqa: S608


class _Broken(Exception):
    pass


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # one sender for each file
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, VERSION):
        raise ValueError(f"its tables are of version {version}, ours of {VERSION}")
    sound = connection.execute("PRAGMA quick_check").fetchone()[0]
    if sound != "ok":
        raise ValueError(sound)
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def _read(connection: sqlite3.Connection) -> Book:
    rows = connection.execute("SELECT number, channel, body, queued_at, tries, next_try FROM queue ORDER BY number")
    done = connection.execute("SELECT incident, channel, seq, at FROM done ORDER BY at")
    incidents = [records.incident(json.loads(body)) for (body,) in connection.execute("SELECT body FROM incidents")]
    incidents.sort(key=lambda one: (one.began, one.id))
    return Book(
        {one.id: one for one in incidents},
        {
            number: Row(number, channel, records.notice(json.loads(body)), queued_at, tries, next_try)
            for number, channel, body, queued_at, tries, next_try in rows
        },
        {(incident, channel): Done(seq, at) for incident, channel, seq, at in done},
    )


def _columns(key: Any, value: Incident | Row | Done) -> tuple[Any, ...]:
    if isinstance(value, Incident):
        return key, records.written(value)
    if isinstance(value, Row):
        return key, value.channel, records.written(value.notice), value.queued_at, value.tries, value.next_try
    return *key, value.seq, value.at
