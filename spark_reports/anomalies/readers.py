"""What each reader went through, in its order: where it went back, where it leapt, what it committed.

Reads come as stretches, so there is little to sort. An assignment is the stretch between rows that give or take a
partition: inside one, a reader owes an account of every record; across two, somebody else may have been at work.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from spark_reports.anomalies import bits
from spark_reports.anomalies.ground import MARKS, Ground
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import Records
from spark_reports.anomalies.stretches import BLOCK, one_by_one, part

READ, MARK, COMMIT = range(3)
NOBODY = -1  # the state after a mark: nothing was read yet
WIDEST = 63  # bits; Spark takes a shift by 64 for one by 0
LARGE = 1_000_000  # events that one task sorts; more of one reader and partition are cut into chunks


@dataclass(frozen=True, slots=True)
class Readers:
    """`steps`: the events that need a look: back, leaps, holes and commits beyond the last read.

    c, tp, op0, ix0, op1, kind, before (the last read's offset), page, mask, low, high.
    """

    steps: DataFrame
    back: int
    leaps: int
    ragged: int  # stretches with holes
    ahead: int  # commits beyond the read before them


def readers(records: Records, stretches: DataFrame) -> Readers:
    steps = _walked(_events(stretches, records.turns()), stretches.count(), records.ground).transform(kept)
    tangled = steps.where("tangled").select("c", "tp", "part").distinct().transform(kept)
    if count := tangled.count():
        apart = _taken_apart(stretches, records, tangled, few=count <= LARGE)
        steps = _walked(_events(apart, records.turns()), records.ground.rows, records.ground).transform(kept)
    found = steps.agg(*(F.count_if(F.col(name)).alias(name) for name in ("back", "leap", "ragged", "ahead"))).collect()[0]
    return Readers(steps, found.back, found.leap, found.ragged, found.ahead)


def _taken_apart(stretches: DataFrame, records: Records, tangled: DataFrame, *, few: bool) -> DataFrame:
    """Where something comes between two reads of a stretch, the order of each read counts."""
    key = ["c", "tp", "part"]
    tangled = F.broadcast(tangled) if few else tangled
    reads = records.reads().withColumn("part", part()).join(tangled, on=key, how="left_semi")
    return stretches.join(tangled, on=key, how="left_anti").unionByName(one_by_one(reads))


def _events(stretches: DataFrame, turns: DataFrame) -> DataFrame:
    """`state`: the last offset read after the event; null for a commit, which changes nothing."""
    reads = stretches.select(
        *("c", "tp", "part", "op0", "ix0", "op1", "ix1", "page", "mask", "low", "high", "rising"),
        F.lit(READ).alias("kind"),
        F.col("high").alias("state"),
    )
    mark = F.col("kind").isin(*MARKS)
    number, nothing = F.lit(None).cast("bigint"), bits.nothing()
    others = turns.select(
        *("c", "tp", number.alias("part"), F.col("op").alias("op0"), F.col("ix").alias("ix0")),
        *(F.col("op").alias("op1"), F.col("ix").alias("ix1"), nothing.alias("page"), nothing.alias("mask")),
        *(F.when(~mark, F.col("offset")).alias(name) for name in ("low", "high")),
        F.lit(True).alias("rising"),
        F.when(mark, MARK).otherwise(COMMIT).alias("kind"),
        F.when(mark, F.lit(NOBODY).cast("bigint")).alias("state"),
    )
    return reads.unionByName(others)


def _walked(events: DataFrame, count: int, ground: Ground) -> DataFrame:
    shift = chunk_shift(count, LARGE, ground.ops)
    if shift is None:
        return _judged(_with_neighbours(events, Window.partitionBy("c", "tp").orderBy("op0", "ix0")))
    chunked = events.withColumn("chunk", F.shiftright("op0", shift))
    here = _with_neighbours(chunked, Window.partitionBy("c", "tp", "chunk").orderBy("op0", "ix0"))
    carried = here.join(F.broadcast(_carried(chunked)), on=["c", "tp", "chunk"], how="left")
    return _judged(carried.withColumn("before", F.coalesce("before", "carried")))


def chunk_shift(count: int, large: int, ops: tuple[int, int]) -> int | None:
    """By how many bits of `op` to cut, so that a chunk is neither too much for one task nor too little to be worth it."""
    chunks = count // large
    if chunks < 2:
        return None
    return min(max(BLOCK, ((ops[1] - ops[0]) // chunks).bit_length()), WIDEST)


def _with_neighbours(events: DataFrame, window: WindowSpec) -> DataFrame:
    return events.select(
        "*",
        F.last("state", ignorenulls=True).over(window.rowsBetween(Window.unboundedPreceding, -1)).alias("before"),
        *(F.lead(name).over(window).alias(f"next_{name}") for name in ("op0", "ix0")),
    )


def _carried(events: DataFrame) -> DataFrame:
    """For each chunk, the state that those before it left behind."""
    lasts = (
        events.where("state is not null")
        .groupBy("c", "tp", "chunk")
        .agg(F.max(F.struct("op0", "ix0", "state")).alias("last"))
    )
    every = events.select("c", "tp", "chunk").distinct().join(lasts, on=["c", "tp", "chunk"], how="left")
    window = Window.partitionBy("c", "tp").orderBy("chunk").rowsBetween(Window.unboundedPreceding, -1)
    carried = F.last("last.state", ignorenulls=True).over(window)
    return every.select("c", "tp", "chunk", carried.alias("carried"))


def _judged(events: DataFrame) -> DataFrame:
    """Only what needs a further look is kept."""
    read, commit = F.col("kind") == READ, F.col("kind") == COMMIT
    known = F.coalesce(F.col("before") >= 0, F.lit(False))
    beyond = known & (F.col("low") - 1 > F.col("before"))  # low is not below 0: this cannot overflow
    reaches = F.struct("next_op0", "next_ix0") <= F.struct("op1", "ix1")
    flags = {
        "back": read & known & (F.col("low") <= F.col("before")),
        "leap": read & beyond,
        "ragged": read & (F.bit_count("mask") < F.col("high") - F.col("low") + 1),
        "ahead": commit & beyond,
        "tangled": read & (~F.col("rising") | (F.col("next_op0").isNotNull() & F.coalesce(reaches, F.lit(False)))),
    }
    judged = events.select(
        *("c", "tp", "part", "op0", "ix0", "op1", "kind", "before", "page", "mask", "low", "high"),
        *(flag.alias(name) for name, flag in flags.items()),
    )
    return judged.where(" or ".join(flags))
