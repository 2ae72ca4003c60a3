"""Mutations of what was written: records that vanish, stand twice, or stand where another is."""

from itertools import pairwise

from chaos.mutators.recording import Mutated, NoSite, Recording, Row, order, partition, place

TRIED = 500  # records from the beginning of their partitions: one of those is the first that everybody reads, or none is
STRANGER = "mutation"  # a client of whom the manifest says nothing


def inconsistent_offsets(recording: Recording) -> Mutated:
    """A second leader acknowledged another record at the same offset, in a transaction of which nobody knows the end."""
    taken = next((rows[0] for rows in recording.reads.values()), None)
    if taken is None:
        raise NoSite("nothing was read: no offset is known to be taken.")
    cells = {"topic": taken["topic"], "partition": taken["partition"], "offset": taken["offset"]}
    stranger = _row(taken, "send", value=_unused_value(recording), txn=_unused_txn(recording), **cells)
    return Mutated([*recording.rows, stranger], 1, f"{place(taken)} was acknowledged for a second value.")


def duplicate(recording: Recording) -> Mutated:
    """A retry that arrived twice: the record stands once more behind everything else."""
    read = next((rows[0] for rows in recording.reads.values() if recording.seen(rows[0]["value"])), None)
    if read is None:
        raise NoSite("nothing was read by a committed reader: no record to repeat.")
    behind = 1 + max(row["offset"] for row in recording.rows if row.get("offset") is not None)
    cells = {"topic": read["topic"], "partition": read["partition"], "offset": behind, "value": read["value"]}
    return Mutated([*recording.rows, _row(read, "poll", **cells)], 1, f"Value {read['value']} was read at {behind}, too.")


def lost_write(recording: Recording) -> Mutated:
    """Nobody ever read a record that was acknowledged below the end of the log; one that nobody's other reads enclose."""
    below = [s for s in recording.sent_once() if _of(s) in recording.drained and _below(s, recording.drained[partition(s)])]
    for send in sorted(below, key=lambda send: int(send["offset"]))[:TRIED]:
        if recording.acknowledged(send) and recording.stands_alone(send) and _at_an_edge(recording, send):
            reads = recording.reads.get(send["value"], [])
            return Mutated(recording.without(reads), 1, f"{len(reads)} reads of {place(send)} were removed.")
    raise NoSite("no acknowledged record is the first that each of its readers read of its partition.")


def unseen_write(recording: Recording) -> Mutated:
    """Acknowledged without an offset, and nobody read it."""
    for send in recording.sent_once():
        if _of(send) in recording.drained and recording.acknowledged(send) and recording.stands_alone(send):
            rows = recording.changed(recording.without(recording.reads.get(send["value"], [])), send, offset=None)
            return Mutated(rows, 1, f"Value {send['value']} lost its offset and all of its reads.")
    raise NoSite("no acknowledged record outside of a larger transaction lies in a drained partition.")


def nonmonotonic_send(recording: Recording) -> Mutated:
    """Two neighbouring sends of an ordered producer change places in time."""
    of: dict[tuple[str, str, int], list[Row]] = {}
    for row in recording.rows:
        told = row["kind"] == "send" and row["outcome"] == "ok" and row.get("offset") is not None and _of(row) is not None
        if told and recording.clients.get(row["client"], {}).get("ordered"):
            of.setdefault((row["client"], *partition(row)), []).append(row)
    for sends in of.values():
        for one, other in pairwise(sorted(sends, key=order)):
            if one["offset"] < other["offset"]:
                rows = recording.changed(recording.rows, one, op=other["op"], ix=other.get("ix"))
                rows = recording.changed(rows, other, op=one["op"], ix=one.get("ix"))
                return Mutated(rows, 1, f"{place(one)} and {place(other)} changed places in {one['client']}.")
    raise NoSite("no client that is marked ordered has two acknowledged records in one partition.")


def _below(send: Row, end: int) -> bool:
    return send.get("offset") is not None and send["offset"] < end


def _of(send: Row) -> tuple[str, int] | None:
    known = send.get("topic") is not None and send.get("partition") is not None
    return partition(send) if known else None


def _at_an_edge(recording: Recording, send: Row) -> bool:
    """Without its reads no other pair of reads encloses it, and no commit of offsets passes it."""
    for stretch in recording.assignments:
        if partition(stretch[0]) != partition(send):
            continue
        reads = [row["offset"] for row in stretch if row["kind"] == "poll" and row["value"] != send["value"]]
        before, after = [o for o in reads if o < send["offset"]], [o for o in reads if o > send["offset"]]
        passing = any(row["kind"] == "offsets" and row["offset"] > send["offset"] for row in stretch)
        if before and (after or passing):
            return False
    return True


def _row(like: Row, kind: str, **cells: object) -> Row:
    """A row of somebody whom the history does not know."""
    times = {"invoked_ns": like.get("invoked_ns"), "completed_ns": like.get("completed_ns"), "final": False}
    basics = {"run_id": like.get("run_id"), "client": STRANGER, "op": 0, "ix": 0, "kind": kind, "outcome": "ok"}
    return basics | times | cells


def _unused_value(recording: Recording) -> int:
    return 1 + max((row["value"] for row in recording.rows if row.get("value") is not None), default=0)


def _unused_txn(recording: Recording) -> str:
    return max((row["txn"] for row in recording.rows if row.get("txn") is not None), default="") + "-and-another"
