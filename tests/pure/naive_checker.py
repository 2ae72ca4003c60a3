"""The contract of the evidence, word for word, in loops and dictionaries: slow, and plain enough to be believed.

Shares no code with the product. Whatever an engine finds must be what this finds.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Row = dict[str, Any]
Place = tuple[str, int, int]


class NaiveChecker:
    def __init__(self, manifest: dict[str, Any], rows: Iterable[Row], events: Iterable[Row] = ()) -> None:
        self.manifest = manifest
        self.rows = [defaultdict(lambda: None, row) for row in rows]
        for row in self.rows:
            row["ix"] = row["ix"] or 0
        self.events = list(events)
        self.sends = [row for row in self.rows if row["kind"] == "send"]
        self.reads = [r for r in self.rows if r["kind"] == "poll" and r["outcome"] == "ok" and r["value"] is not None]
        self.read_values = {row["value"] for row in self.reads}
        self.committed_values = {row["value"] for row in self.reads if self.committed_reader(row["client"])}
        self.sends_of: dict[int, list[Row]] = defaultdict(list)
        for row in self.sends:
            self.sends_of[row["value"]].append(row)
        self.seats: set[tuple[Place, int]] = set()
        for row in self.reads + [s for s in self.sends if s["outcome"] == "ok" and s["offset"] is not None]:
            if row["topic"] is not None and row["partition"] is not None:
                self.seats.add(((row["topic"], row["partition"], row["offset"]), row["value"]))
        self.ends_of: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["kind"] in ("commit", "abort") and row["txn"] is not None:
                self.ends_of[row["txn"]].append(row)
        self.certain = sorted({place for place, value in self.seats if self.is_certain(value)})
        self.drained: dict[tuple[str, int], int] = {}
        for row in self.rows:
            if row["kind"] == "drained" and row["outcome"] == "ok":
                self.drained[partition(row)] = max(row["offset"], self.drained.get(partition(row), 0))

    # ---- words ------------------------------------------------------------------------------------------------

    def client(self, name: str) -> dict[str, Any]:
        return self.manifest.get("clients", {}).get(name, {})

    def committed_reader(self, name: str) -> bool:
        return self.client(name).get("isolation", "read_committed") == "read_committed"

    def transaction_fate(self, txn: str) -> str:
        ended = {(row["kind"], row["outcome"]) for row in self.ends_of.get(txn, ())}
        if ("commit", "ok") in ended:
            return "ok"
        if ("commit", "info") not in ended and (("abort", "ok") in ended or ("commit", "fail") in ended):
            return "fail"
        return "info"

    def fate(self, send: Row) -> str:
        if send["txn"] is None or send["outcome"] == "fail":
            return str(send["outcome"])
        return self.transaction_fate(send["txn"])

    def value_fate(self, value: int) -> str | None:
        """A value is sent once; of several sends, the best fate is the value's."""
        fates = {self.fate(send) for send in self.sends_of.get(value, ())}
        return next((fate for fate in ("ok", "info", "fail") if fate in fates), None)

    def is_certain(self, value: int) -> bool:
        return self.value_fate(value) == "ok" or value in self.committed_values

    def assignments(self) -> list[list[Row]]:
        """For each client and partition the rows between assign, revoke and lost, in order."""
        of: dict[Any, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["topic"] is not None and row["partition"] is not None:
                of[row["client"], partition(row)].append(row)
        stretches: list[list[Row]] = []
        for rows in of.values():
            stretches.append([])
            for row in sorted(rows, key=lambda r: (r["op"], r["ix"])):
                if row["kind"] in ("assign", "revoke", "lost"):
                    stretches.append([])
                stretches[-1].append(row)
        return stretches

    def is_read(self, row: Row) -> bool:
        return bool(row["kind"] == "poll" and row["outcome"] == "ok" and row["value"] is not None)

    def certain_between(self, where: tuple[str, int], low: int, high: int) -> bool:
        after = bisect_right(self.certain, (*where, low))
        return after < len(self.certain) and self.certain[after] < (*where, high)

    # ---- anomalies --------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        lost, unseen = self.lost_and_unseen()
        back, skipped, ahead = self.readers()
        return {
            "inconsistent-offsets": self.crowded(0),
            "duplicate": self.crowded(1),
            "lost-write": lost,
            "unseen-write": unseen,
            "aborted-read": sum(self.value_fate(value) == "fail" for value in self.committed_values),
            "phantom-read": sum(value not in self.sends_of for value in self.read_values),
            "nonmonotonic-poll": back,
            "poll-skip": skipped,
            "nonmonotonic-send": self.nonmonotonic_sends(),
            "torn-transaction": self.torn(),
            "precommitted-read": self.precommitted(),
            "write-read-cycle": self.cycles(),
            "commit-ahead": ahead,
        }

    def crowded(self, by: int) -> int:
        """Places with two values (0), or values in two places (1)."""
        others: dict[Any, set[Any]] = defaultdict(set)
        for seat in self.seats:
            others[seat[by]].add(seat[1 - by])
        return sum(len(sharing) > 1 for sharing in others.values())

    def lost_and_unseen(self) -> tuple[int, int]:
        lost, unseen = set(), set()
        for send in self.sends:
            known = send["topic"] is not None and send["partition"] is not None
            if (
                self.fate(send) == "ok"
                and send["value"] not in self.read_values
                and known
                and partition(send) in self.drained
            ):
                below = send["offset"] is not None and send["offset"] < self.drained[partition(send)]
                (lost if below else unseen).add(send["value"])
        return len(lost), len(unseen - lost)

    def readers(self) -> tuple[int, int, int]:
        back = skipped = ahead = 0
        for rows in self.assignments():
            last = None
            for row in rows:
                if row["kind"] == "offsets" and row["outcome"] == "ok" and row["offset"] is not None and last is not None:
                    ahead += self.certain_between(partition(row), last["offset"], row["offset"])
                if not self.is_read(row):
                    continue
                if last is not None:
                    back += row["offset"] <= last["offset"]
                    skipped += self.certain_between(partition(row), last["offset"], row["offset"])
                last = row
        return back, skipped, ahead

    def nonmonotonic_sends(self) -> int:
        count = 0
        of: dict[Any, list[Row]] = defaultdict(list)
        for send in self.sends:
            told = send["offset"] is not None and send["topic"] is not None and send["partition"] is not None
            if self.client(send["client"]).get("ordered") and send["outcome"] == "ok" and told:
                of[send["client"], partition(send)].append(send)
        for sends in of.values():
            sends.sort(key=lambda r: (r["op"], r["ix"]))
            count += sum(after["offset"] < before["offset"] for before, after in pairwise(sends))
        return count

    def torn(self) -> int:
        count = 0
        sends_in: dict[str, list[Row]] = defaultdict(list)
        for send in self.sends:
            if send["txn"] is not None and send["outcome"] != "fail":
                sends_in[send["txn"]].append(send)
        for txn, mine in sends_in.items():
            wrote = {partition(s) for s in mine if s["topic"] is not None and s["partition"] is not None}
            seen = {send["value"] in self.committed_values for send in mine}
            count += self.transaction_fate(txn) != "fail" and wrote <= set(self.drained) and seen == {True, False}
        return count

    def precommitted(self) -> int:
        values = set()
        for read in self.reads:
            for send in self.sends_of.get(read["value"], ()):
                if send["client"] == read["client"] and send["txn"] is not None:
                    ended = [row["op"] for row in self.ends_of.get(send["txn"], ()) if row["client"] == read["client"]]
                    if not any(op < read["op"] for op in ended):
                        values.add(read["value"])
        return len(values)

    def cycles(self) -> int:
        """Everyone who can be reached from somebody and reaches them back is of one component."""
        after: dict[str, set[str]] = defaultdict(set)
        for read in self.reads:
            for send in self.sends_of.get(read["value"], ()):
                if None not in (read["txn"], send["txn"]) and read["txn"] != send["txn"]:
                    after[send["txn"]].add(read["txn"])
        reach = {txn: reachable(txn, after) for txn in list(after)}
        rings = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach if a in reach[a]}
        return len(rings)

    # ---- verdict ----------------------------------------------------------------------------------------------

    def verdict(self) -> str:
        counts = self.counts()
        if any(count for name, count in counts.items() if name not in self.manifest["permitted"]):
            return "FAIL"
        written = {
            partition(s)
            for s in self.sends
            if s["outcome"] != "fail" and s["topic"] is not None and s["partition"] is not None
        }
        bitten = {event["id"] for event in self.events if event["event"] == "bite"}
        if (
            not written <= set(self.drained)
            or not any(send["outcome"] == "ok" for send in self.sends)
            or not self.reads
            or any(event["event"] == "fault" and event["id"] not in bitten for event in self.events)
        ):
            return "INCONCLUSIVE"
        return "PASS"


def partition(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]


def reachable(start: str, after: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(after.get(start, ()))
    while todo:
        txn = todo.pop()
        if txn not in found:
            found.add(txn)
            todo.extend(after.get(txn, ()))
    return found
