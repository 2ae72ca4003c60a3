"""What a first look at the ledger tells: who took part, which partitions there are, how far each was read at the end.

One pass. All of it is small, so it lives on the driver; and it says which of the checks have nothing to do.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kernel.ledger import Kind, Outcome
from spark_reports.frames import frame
from spark_reports.ledger.rules import broken

MARKS = (Kind.ASSIGN, Kind.REVOKE, Kind.LOST)
COMMITTED = "read_committed"
CLIENT = "client string, c int, committed boolean, ordered boolean, single boolean, own boolean"
PARTITION = "topic string, partition bigint, tp int, end bigint"


@dataclass(frozen=True, slots=True)
class Client:
    """What the manifest says of a client, and what the ledger does."""

    committed: bool
    ordered: bool
    reads: bool = False
    transactional: bool = False  # it sends inside transactions
    single: bool = True  # every poll of its returned one record


@dataclass(frozen=True, slots=True)
class Ground:
    rows: int = 0
    broken: int = 0  # rows that break a rule
    acknowledged: int = 0
    ordered_sends: int = 0
    sends_inside: int = 0  # of transactions
    reads_inside: int = 0
    ops: tuple[int, int] = (0, 0)  # least and greatest
    clients: dict[str, Client] = field(default_factory=dict)  # in the order of their codes
    ends: dict[tuple[str, int], int] = field(default_factory=dict)  # of every partition, in order; -1 if not drained
    written: frozenset[tuple[str, int]] = frozenset()

    @property
    def undrained(self) -> list[tuple[str, int]]:
        return sorted(place for place in self.written if self.ends[place] < 0)

    @property
    def all_committed(self) -> bool:
        return all(client.committed for client in self.clients.values() if client.reads)

    @property
    def own(self) -> frozenset[str]:
        """Clients that send inside transactions and read, too."""
        return frozenset(name for name, client in self.clients.items() if client.reads and client.transactional)

    def clients_frame(self, spark: SparkSession) -> DataFrame:
        cells = [
            (name, code, client.committed, client.ordered, client.single, name in self.own)
            for code, (name, client) in enumerate(self.clients.items())
        ]
        return F.broadcast(frame(spark, cells, CLIENT))

    def partitions_frame(self, spark: SparkSession) -> DataFrame:
        cells = [(topic, number, code, end) for code, ((topic, number), end) in enumerate(self.ends.items())]
        return F.broadcast(frame(spark, cells, PARTITION))


def is_send() -> Column:
    return F.col("kind") == Kind.SEND


def is_read() -> Column:
    return (F.col("kind") == Kind.POLL) & (F.col("outcome") == Outcome.OK) & F.col("value").isNotNull()


def look(rows: DataFrame, clients: dict[str, dict[str, Any]]) -> Ground:
    send, read, ok, inside = is_send(), is_read(), F.col("outcome") == Outcome.OK, F.col("txn").isNotNull()
    drained = (F.col("kind") == Kind.DRAINED) & ok
    found = rows.groupBy("client", "topic", "partition").agg(
        F.count("*").alias("rows"),
        F.count_if(broken()).alias("broken"),
        F.count_if(send & ok).alias("acknowledged"),
        F.count_if(send & (F.col("outcome") != Outcome.FAIL)).alias("written"),
        F.count_if(send & inside).alias("sends_inside"),
        F.count_if(read).alias("reads"),
        F.count_if(read & inside).alias("reads_inside"),
        F.count_if(read & (F.col("ix") != 0)).alias("split_reads"),
        F.max(F.when(drained, F.col("offset"))).alias("end"),
        F.min("op").alias("first_op"),
        F.max("op").alias("last_op"),
    )
    return _ground(found.collect(), clients)


def _ground(found: list[Row], listed: dict[str, dict[str, Any]]) -> Ground:
    total = {name: sum(row[name] for row in found) for name in ("rows", "broken")}
    if total["broken"] or not total["rows"]:
        return Ground(**total)
    of_client, ends, written = defaultdict(list), dict[tuple[str, int], int](), set()
    for row in found:
        of_client[row.client].append(row)
        if row.topic is not None and row.partition is not None:
            place = (row.topic, row.partition)
            ends[place] = max(ends.get(place, -1), -1 if row.end is None else row.end)
            if row.written:
                written.add(place)
    clients = {name: _client(of_client[name], listed.get(name, {})) for name in sorted(of_client)}
    return Ground(
        **total,
        **{name: sum(row[name] for row in found) for name in ("acknowledged", "sends_inside", "reads_inside")},
        ordered_sends=sum(row.acknowledged for name in clients if clients[name].ordered for row in of_client[name]),
        ops=(min(row.first_op for row in found), max(row.last_op for row in found)),
        clients=clients,
        ends={place: ends[place] for place in sorted(ends)},
        written=frozenset(written),
    )


def _client(rows: list[Row], listed: dict[str, Any]) -> Client:
    """One that is not listed reads what is committed and promises no order."""
    isolation, ordered = listed.get("isolation"), listed.get("ordered")
    return Client(
        committed=isolation is None or isolation == COMMITTED,
        ordered=bool(ordered),
        reads=any(row.reads for row in rows),
        transactional=any(row.sends_inside for row in rows),
        single=not any(row.split_reads for row in rows),
    )
