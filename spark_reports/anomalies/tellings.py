"""What is told of each anomaly that was found: its first hundred, with the rows that bear witness."""

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame, Row

from kernel import findings
from kernel.ledger import Kind, Outcome
from kernel.verdict import MOST_FINDINGS, Finding
from spark_reports.anomalies import bits
from spark_reports.anomalies.witnesses import Place, Witnesses, is_sent, witness


def first(found: DataFrame, *order: str) -> list[Row]:
    return found.orderBy(*order).limit(MOST_FINDINGS).collect()


def first_values(found: DataFrame) -> list[int]:
    return [row.value for row in first(found, "value")]


def first_bits(pages: DataFrame, chosen: Column) -> list[int]:
    """The least values whose bits are chosen."""
    rows = first(pages.select("page", chosen.alias("chosen")).where("chosen != 0"), "page")
    values = [row.page * bits.SIZE + at for row in rows for at in range(bits.SIZE) if row.chosen >> at & 1]
    return values[:MOST_FINDINGS]


def inconsistent_offsets(look: Witnesses, crowded: DataFrame) -> Iterator[Finding]:
    places = [_place(look, row.tp, row.offset) for row in first(crowded, "tp", "offset")]
    seats = look.of_places(places)
    for place in places:
        held: dict[int, Row] = {}
        for row in seats[place]:
            held.setdefault(row.value, row)
        yield findings.inconsistent_offsets([(witness(row), is_sent(row)) for row in held.values()])


def duplicate(look: Witnesses, values: list[int]) -> Iterator[Finding]:
    rows = look.of_values(values)
    for value in values:
        spots = {}
        for row in sorted(rows[value], key=is_sent):
            if row.offset is not None and row.topic is not None and row.partition is not None and row.outcome == Outcome.OK:
                spots[row.topic, row.partition, row.offset] = row
        yield findings.duplicate([witness(spots[place]) for place in sorted(spots)])


def missing(look: Witnesses, values: list[int], *, lost: bool) -> Iterator[Finding]:
    """Of a value that was sent more than once, the first send that is missing."""
    rows = [row for rows in look.of_values(values).values() for row in rows]
    ends = look.ends({row.txn for row in rows if row.txn is not None})
    committed = {end.txn for end in ends if (end.kind, end.outcome) == (Kind.COMMIT, Outcome.OK)}
    told: dict[int, tuple[Row, int]] = {}
    for row in rows:
        end = look.ground.ends.get((row.topic, row.partition), -1)
        owed = row.outcome == Outcome.OK if row.txn is None else row.outcome != Outcome.FAIL and row.txn in committed
        below = row.offset is not None and row.offset < end
        if owed and end >= 0 and below == lost:
            told.setdefault(row.value, (row, end))
    tell = findings.lost_write if lost else findings.unseen_write
    for row, end in sorted(told.values(), key=lambda one: _log_order(one[0])):
        yield tell(witness(row), end)


def _log_order(row: Row) -> tuple[str, int, int, int]:
    return row.topic, row.partition, -1 if row.offset is None else row.offset, row.op


def aborted_read(look: Witnesses, values: list[int]) -> Iterator[Finding]:
    rows = look.of_values(values)
    for value in values:
        reads = [row for row in rows[value] if not is_sent(row) and look.ground.clients[row.client].committed]
        sends = [row for row in rows[value] if is_sent(row)]
        yield findings.aborted_read(witness(reads[0]), witness(sends[0]))


def phantom_read(look: Witnesses, values: list[int]) -> Iterator[Finding]:
    rows = look.of_values(values)
    for value in values:
        yield findings.phantom_read(witness(rows[value][0]))


def nonmonotonic_poll(look: Witnesses, back: DataFrame) -> Iterator[Finding]:
    for row, found in _named(look, first(back, "c", "tp", "op", "ix")):
        yield findings.nonmonotonic_poll(witness(row), found.before)


def poll_skip(look: Witnesses, skips: DataFrame) -> Iterator[Finding]:
    for row, found in _named(look, first(skips, "c", "tp", "op", "ix")):
        yield findings.poll_skip(witness(row), found.before, found.passed)


def commit_ahead(look: Witnesses, commits: DataFrame) -> Iterator[Finding]:
    for row, found in _named(look, first(commits, "c", "tp", "op", "ix")):
        yield findings.commit_ahead(witness(row), found.before, found.passed)


def nonmonotonic_send(look: Witnesses, sends: DataFrame) -> Iterator[Finding]:
    shown = first(sends, "c", "tp", "op", "ix")
    before = look.named([(_client(look, row.c), row.before_op, row.before_ix) for row in shown])
    for row, found in _named(look, shown):
        yield findings.nonmonotonic_send(witness(row), witness(before[row.client, found.before_op, found.before_ix]))


def torn_transaction(look: Witnesses, torn: DataFrame) -> Iterator[Finding]:
    shown = first(torn, "txn")
    sends = look.of_transactions([row.txn for row in shown])
    for row in shown:
        yield findings.torn_transaction(witness(sends[row.txn][0]), row.seen, row.sent)


def precommitted_read(look: Witnesses, values: list[int]) -> Iterator[Finding]:
    rows = look.of_values(values)
    ended: dict[tuple[str, str], int] = {}
    for end in look.ends({row.txn for value in values for row in rows[value] if row.txn is not None}):
        ended[end.client, end.txn] = min(end.op, ended.get((end.client, end.txn), end.op))
    for value in values:
        sends = [row for row in rows[value] if is_sent(row) and row.txn is not None]
        early = (
            (read, send)
            for send in (sends[-1], *sends[:-1])  # as a value is sent once, the last is mostly the only one
            for read in rows[value]
            if not is_sent(read) and read.client == send.client
            if (send.client, send.txn) not in ended or read.op <= ended[send.client, send.txn]
        )
        read, send = next(early)
        yield findings.precommitted_read(witness(read), witness(send))


def _named(look: Witnesses, found: list[Row]) -> Iterator[tuple[Row, Row]]:
    """Each of what was found beside its row of the ledger."""
    names = [(_client(look, row.c), row.op, row.ix) for row in found]
    rows = look.named(names)
    for name, one in zip(names, found, strict=True):
        yield rows[name], one


def _client(look: Witnesses, code: int) -> str:
    return list(look.ground.clients)[code]


def _place(look: Witnesses, code: int, offset: int) -> Place:
    topic, partition = list(look.ground.ends)[code]
    return topic, partition, offset
