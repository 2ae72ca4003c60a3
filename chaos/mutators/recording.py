"""A clean history in plain rows, with what a mutator needs to find a place where exactly one thing can go wrong.

Written without the checkers' code: whoever tests a judge should not ask the judge.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernel.errors import UsageError

Row = dict[str, Any]
Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Mutated:
    rows: list[Row]
    count: int  # of the one anomaly that must now be found
    sentence: str  # what was done


class NoSite(UsageError):
    """This history has no place for the mutation: it is too small, or lacks the kind of client it needs."""


class Recording:
    def __init__(self, manifest: dict[str, Any], rows: list[Row]) -> None:
        self.rows = rows
        self.clients: dict[str, dict[str, Any]] = manifest.get("clients") or {}

    # ---- rows by what they say ----------------------------------------------------------------------------------

    @cached_property
    def sends(self) -> dict[int, list[Row]]:
        """By value."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["kind"] == "send":
                found[row["value"]].append(row)
        return found

    @cached_property
    def reads(self) -> dict[int, list[Row]]:
        """By value."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            if is_read(row):
                found[row["value"]].append(row)
        return found

    @cached_property
    def transactions(self) -> dict[str, list[Row]]:
        """Sends that are not fail, by transaction."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["kind"] == "send" and row.get("txn") is not None and row["outcome"] != "fail":
                found[row["txn"]].append(row)
        return found

    @cached_property
    def ends(self) -> dict[str, list[Row]]:
        """Commits and aborts, by transaction."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["kind"] in ("commit", "abort") and row.get("txn") is not None:
                found[row["txn"]].append(row)
        return found

    @cached_property
    def drained(self) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for row in self.rows:
            if row["kind"] == "drained" and row["outcome"] == "ok":
                found[partition(row)] = max(row["offset"], found.get(partition(row), 0))
        return found

    @cached_property
    def assignments(self) -> list[list[Row]]:
        """Reads and commits of offsets of one client and partition, in order, between two rows that give or take it."""
        of: dict[tuple[str, Partition], list[Row]] = defaultdict(list)
        for row in self.rows:
            if row.get("topic") is not None and row["kind"] in ("assign", "revoke", "lost", "offsets", "poll"):
                of[row["client"], partition(row)].append(row)
        stretches: list[list[Row]] = []
        for rows in of.values():
            stretches.append([])
            for row in sorted(rows, key=order):
                if row["kind"] in ("assign", "revoke", "lost"):
                    stretches.append([])
                elif is_read(row) or (row["kind"] == "offsets" and row["outcome"] == "ok" and row.get("offset") is not None):
                    stretches[-1].append(row)
        return [stretch for stretch in stretches if stretch]

    @cached_property
    def offsets_seen(self) -> dict[Partition, list[int]]:
        """Where committed readers read something, by partition, sorted."""
        found: dict[Partition, set[int]] = defaultdict(set)
        for rows in self.reads.values():
            for row in rows:
                found[partition(row)].update([row["offset"]] if self.seen(row["value"]) else [])
        return {where: sorted(offsets) for where, offsets in found.items()}

    # ---- questions ----------------------------------------------------------------------------------------------

    def committed(self, client: str) -> bool:
        return bool((self.clients.get(client, {}).get("isolation") or "read_committed") == "read_committed")

    def seen(self, value: int) -> bool:
        """By a committed reader."""
        return any(self.committed(row["client"]) for row in self.reads.get(value, ()))

    def acknowledged(self, send: Row) -> bool:
        """Of fate ok: for good."""
        if send.get("txn") is None or send["outcome"] == "fail":
            return bool(send["outcome"] == "ok")
        return any(row["kind"] == "commit" and row["outcome"] == "ok" for row in self.ends.get(send["txn"], ()))

    def stands_alone(self, send: Row) -> bool:
        """Nothing else of its transaction could be torn from it."""
        return send.get("txn") is None or len(self.transactions[send["txn"]]) == 1

    def sent_once(self) -> Iterator[Row]:
        """Sends with a value of their own, in the order of the ledger."""
        return (rows[0] for rows in self.sends.values() if len(rows) == 1)

    def next_ix(self, client: str, op: int) -> int:
        return max((row.get("ix") or 0) for row in self.rows if row["client"] == client and row["op"] == op) + 1

    def without(self, gone: list[Row]) -> list[Row]:
        ids = {id(row) for row in gone}
        return [row for row in self.rows if id(row) not in ids]

    def changed(self, rows: list[Row], old: Row, **cells: Any) -> list[Row]:
        return [row | cells if row is old else row for row in rows]


def is_read(row: Row) -> bool:
    return row["kind"] == "poll" and row["outcome"] == "ok" and row.get("value") is not None


def partition(row: Row) -> Partition:
    return row["topic"], row["partition"]


def order(row: Row) -> tuple[int, int]:
    return row["op"], row.get("ix") or 0


def place(row: Row) -> str:
    return f"{row['topic']}-{row['partition']} @ {row.get('offset')}"
