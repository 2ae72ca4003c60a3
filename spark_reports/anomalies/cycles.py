"""Do transactions read each other's writes in a ring? Whoever is in none is trimmed away; the rest is walked here."""

from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import Records, holding, inside
from spark_reports.anomalies.values import Values

Rings = Callable[[Iterable[tuple[int, int]]], list[list[int]]]

FEW = 1_000_000  # edges that the driver walks by itself
ROUNDS = 16


def cycles(records: Records, values: Values, rings: Rings) -> list[list[str]]:
    """Each ring by the names of its transactions, in order."""
    edges = _trimmed(_edges(records, values)).collect()
    names = sorted({name for edge in edges for name in edge})
    codes = {name: code for code, name in enumerate(names)}
    found = rings((codes[edge.writer], codes[edge.reader]) for edge in edges)
    return sorted([names[code] for code in ring] for ring in found)


def _edges(records: Records, values: Values) -> DataFrame:
    """writer, reader: different transactions, the one wrote what a poll inside the other read."""
    chosen = bits.both(F.col("sent_inside"), F.col("read_inside"))
    wrote, read = (
        holding(rows.where(inside()), values.pages, chosen, few=values.few).select("value", F.col("txn").alias(name))
        for rows, name in ((records.sends(), "writer"), (records.reads(), "reader"))
    )
    pairs = wrote.join(read, on="value", how="inner").where("writer != reader")
    return pairs.select("writer", "reader").distinct().transform(kept)


def _trimmed(edges: DataFrame) -> DataFrame:
    """Whoever only writes or only reads is in no ring; without them, the next ones may be seen to be in none."""
    count = edges.count()
    for _ in range(ROUNDS):
        if count <= FEW:
            break
        writers, readers = edges.select(F.col("writer").alias("reader")), edges.select(F.col("reader").alias("writer"))
        edges = edges.join(writers.distinct(), on="reader", how="left_semi")
        edges = edges.join(readers.distinct(), on="writer", how="left_semi").select("writer", "reader").transform(kept)
        count, before = edges.count(), count
        if count == before:
            break
    return edges
