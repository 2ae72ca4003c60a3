"""The audit topic as a table: one row a report, each report once, whatever was sent twice.

A report tells what one client of one tier has counted since its last one (docs/audit.md, *The audit topic*). The small
tables that name single offsets are left in the topic: a kilobyte each, and of use only to who asks which record it was.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

VERSION = 1
# As it is written. `sum` and `xor` are unsigned 64 bits in hexadecimal.
REPORT = """
    version int, tier string, role string, life string, seq bigint, begins bigint, at_ms bigint, every_ms bigint,
    bucket_ms bigint, identity string, closed boolean, `left` boolean, unaudited bigint,
    `rows` array<struct<topic: string, partition: int, start_ms: bigint, count: bigint, sum: string, xor: string,
        first: bigint, last: bigint>>,
    positions array<struct<topic: string, partition: int, begin: bigint, `end`: bigint>>,
    unsure array<struct<topic: string, partition: int, from_ms: bigint, to_ms: bigint, records: bigint>>,
    broken string
"""
NEEDED = (
    "tier", "role", "life", "seq", "begins", "at_ms", "every_ms", "bucket_ms", "identity", "closed", "left", "unaudited",
    "rows", "positions", "unsure",
)  # fmt: skip
# As it is kept. `key` names a report: tier/role/life/seq; `received_ms` is by the topic's clock.
AUDIT = f"""
    key string, {REPORT.replace("version int,", "").replace("broken string", "").strip()}
    received_ms bigint, date date
"""
HOW = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "broken"}
KEY_PARTS = ("tier", "role", "life", "seq")


def audit_rows(records: DataFrame) -> DataFrame:
    """Records as Spark's connector gives them → reports, by the columns of AUDIT. What is none of ours is left out."""
    found = records.select(F.from_json(F.col("value").cast("string"), REPORT, HOW).alias("told"), "timestamp", "offset")
    ours = found.where(_is_report()).select(
        F.concat_ws("/", *(F.col(f"told.{part}").cast("string") for part in KEY_PARTS)).alias("key"),
        *(F.col(f"told.{name}") for name in NEEDED),
        F.unix_millis("timestamp").alias("received_ms"),
        F.to_date(F.timestamp_millis("told.at_ms")).alias("date"),  # the same in every copy
        "offset",
    )
    # Of copies the first: a later one tells nothing new, and would make the tier look alive when it was not.
    whole = F.struct(*(F.col(name) for name in ours.columns))
    return (
        ours.groupBy("key")
        .agg(F.min_by(whole, F.struct("received_ms", "offset")).alias("first"))
        .select("first.*")
        .drop("offset")
    )


def strangers(records: DataFrame) -> int:
    """How many records are no report, or one of a version to come."""
    found = records.select(F.from_json(F.col("value").cast("string"), REPORT, HOW).alias("told"))
    return found.where(~F.coalesce(_is_report(), F.lit(False))).count()


def _is_report() -> Column:
    whole = F.col("told.broken").isNull() & (F.col("told.version") == VERSION)
    for name in NEEDED:
        whole = whole & F.col(f"told.{name}").isNotNull()
    return whole
