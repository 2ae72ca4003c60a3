"""Mutations of transactions: torn apart, read too early, or each before the other."""

from itertools import combinations

from chaos.mutators.recording import Mutated, NoSite, Recording, Row, is_read, partition, place


def torn_transaction(recording: Recording) -> Mutated:
    """Nobody knows whether it was committed; a part of it was seen, one record is nowhere."""
    for txn, sends in recording.transactions.items():
        commits = recording.ends.get(txn, [])
        whole = len(sends) > 1 and all(
            recording.seen(send["value"]) and len(recording.sends[send["value"]]) == 1 for send in sends
        )
        known = all(send.get("topic") is not None and partition(send) in recording.drained for send in sends)
        if whole and known and [(row["kind"], row["outcome"]) for row in commits] == [("commit", "ok")]:
            lost = sends[-1]
            rows = recording.changed(recording.without(recording.reads[lost["value"]]), lost, offset=None)
            rows = recording.changed(rows, commits[0], outcome="info", completed_ns=None)
            return Mutated(rows, 1, f"The commit of {txn} timed out and value {lost['value']} is nowhere.")
    raise NoSite("no committed transaction has two or more records that were all read.")


def precommitted_read(recording: Recording) -> Mutated:
    """A producer reads its own record between sending it and committing."""
    busy = {
        (row["client"], *partition(row)) for row in recording.rows if row["kind"] in ("poll", "offsets") and row.get("topic")
    }
    for txn, sends in recording.transactions.items():
        for send in sends:
            seat = next((row for row in recording.reads.get(send["value"], ()) if recording.committed(row["client"])), None)
            later = [row for row in recording.ends.get(txn, ()) if row["op"] > send["op"]]
            if seat is None or len(later) != len(recording.ends.get(txn, ())) or not recording.acknowledged(send):
                continue
            if (send["client"], *partition(seat)) not in busy:
                own = seat | {
                    "client": send["client"],
                    "op": send["op"],
                    "ix": recording.next_ix(send["client"], send["op"]),
                }
                rows = [*recording.rows, own | {"txn": None, "final": False}]
                return Mutated(rows, 1, f"{send['client']} read {place(seat)} before it committed {txn}.")
    raise NoSite("no client that sends in transactions leaves alone a partition that it writes.")


def write_read_cycle(recording: Recording) -> Mutated:
    """Two transactions each read what the other wrote."""
    reads = {txn: _a_read_of(recording, txn) for txn in recording.transactions}
    readable = [(txn, read) for txn, read in reads.items() if read is not None]
    for (one, read_one), (other, read_other) in combinations(readable, 2):
        rows = recording.changed(recording.rows, read_one, txn=other)
        rows = recording.changed(rows, read_other, txn=one)
        return Mutated(rows, 1, f"{one} and {other} each read a record of the other.")
    raise NoSite("no two transactions have a record that was read.")


def _a_read_of(recording: Recording, txn: str) -> Row | None:
    """A read outside of any transaction, of a value that this one sent and no other."""
    for send in recording.transactions[txn]:
        if len(recording.sends[send["value"]]) == 1:
            for read in recording.reads.get(send["value"], ()):
                if is_read(read) and read.get("txn") is None:
                    return read
    return None
