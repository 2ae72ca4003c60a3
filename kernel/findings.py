"""What is said of each anomaly: one sentence, the same whichever engine found it.

An engine hands over the rows of the ledger that bear witness, and what it counted; wording is done here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel.verdict import Finding

NAMED = 8  # transactions of a ring in a sentence


@dataclass(frozen=True, slots=True)
class Witness:
    """What one row of the ledger knows; None where it does not."""

    client: str
    op: int
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    value: int | None = None
    txn: str | None = None

    @property
    def who(self) -> str:
        return f"{self.client} (op {self.op})"

    @property
    def where(self) -> str:
        """As people write it: orders-0 @ 8812."""
        return self.partition_name if self.offset is None else f"{self.partition_name} @ {self.offset}"

    @property
    def partition_name(self) -> str:
        return f"{self.topic}-{self.partition}"


def _at(name: str, row: Witness, sentence: str) -> Finding:
    return Finding(name, sentence, row.topic, row.partition, row.offset, row.value, row.txn, row.client, row.op)


def _records(count: int) -> str:
    return f"{count} {'record' if count == 1 else 'records'}"


def inconsistent_offsets(held: Sequence[tuple[Witness, bool]]) -> Finding:
    """One witness for each value, and whether it was acknowledged there (or else read)."""
    words = [f"{row.value} ({'acknowledged to' if acked else 'read by'} {row.who})" for row, acked in held]
    first = held[0][0]
    return _at("inconsistent-offsets", first, f"{first.where} holds {' and '.join(words)}.")


def duplicate(seats: Sequence[Witness]) -> Finding:
    """One witness for each place, in the order of the log."""
    words = " and at ".join(row.where for row in seats)
    return _at("duplicate", seats[0], f"Value {seats[0].value} is in the log {len(seats)} times: at {words}.")


def lost_write(send: Witness, end: int) -> Finding:
    sentence = f"Value {send.value}, acknowledged to {send.who} at {send.where}, was never read; the log goes on to {end}."
    return _at("lost-write", send, sentence)


def unseen_write(send: Witness, end: int) -> Finding:
    place = f"an unknown offset of {send.partition_name}" if send.offset is None else send.where
    sentence = f"Value {send.value}, acknowledged to {send.who} at {place}, was never read; the log ends at {end}."
    return _at("unseen-write", send, sentence)


def aborted_read(read: Witness, send: Witness) -> Finding:
    why = "and was told that it failed" if send.txn is None else f"in transaction {send.txn}, which was aborted"
    sentence = f"{read.who} read value {read.value} at {read.where}; {send.who} sent it {why}."
    return _at("aborted-read", read, sentence)


def phantom_read(read: Witness) -> Finding:
    sentence = f"{read.who} read value {read.value} at {read.where}, and no send of this run carries it."
    return _at("phantom-read", read, sentence)


def nonmonotonic_poll(read: Witness, after: int) -> Finding:
    return _at("nonmonotonic-poll", read, f"{read.who} read {read.where} after offset {after} in one assignment.")


def poll_skip(read: Witness, after: int, passed: int) -> Finding:
    sentence = (
        f"{read.who} went from offset {after} to {read.where} in one assignment, past {_records(passed)} "
        "that it should have seen."
    )
    return _at("poll-skip", read, sentence)


def nonmonotonic_send(send: Witness, before: Witness) -> Finding:
    sentence = f"{send.who} wrote {send.where} after offset {before.offset} (op {before.op}), and its order was promised."
    return _at("nonmonotonic-send", send, sentence)


def torn_transaction(first: Witness, seen: int, sent: int) -> Finding:
    """`first`: a send of the transaction."""
    sentence = f"Of the {sent} records of transaction {first.txn} of {first.client}, committed readers saw {seen}."
    return Finding("torn-transaction", sentence, txn=first.txn, client=first.client, op=first.op)


def precommitted_read(read: Witness, send: Witness) -> Finding:
    sentence = (
        f"{read.who} read value {read.value} at {read.where}, which it had sent itself in transaction {send.txn} "
        f"(op {send.op}) and not yet committed or aborted."
    )
    return _at("precommitted-read", read, sentence)


def write_read_cycle(ring: Sequence[str]) -> Finding:
    names = [*ring[:NAMED], *(["…"] if len(ring) > NAMED else [])]
    sentence = f"Transactions {', '.join(names)} ({len(ring)}) each read what another of them wrote, in a ring."
    return Finding("write-read-cycle", sentence, txn=ring[0])


def commit_ahead(commit: Witness, read_up_to: int, passed: int) -> Finding:
    sentence = f"{commit.who} committed {commit.where} having read up to offset {read_up_to}, past {_records(passed)}."
    return _at("commit-ahead", commit, sentence)
