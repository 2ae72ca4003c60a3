"""manifest.json and verdict.json of any number of runs → one row each, and one sentence for each that cannot be used.

It does not matter where the texts come from: run folders and the results topic give the same rows. What only some
programs write is null or a default; what is there and is not what it should be is named: file, field, value.
"""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.nightly.words import config_words

FORMAT = 1  # the newest manifest.json that is understood here
VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE")
SENTENCES = 10  # findings that a row keeps; the first of each anomaly is kept beyond that
SHOWN = 80  # characters of a value in a sentence
NAMES = "array<string>"
FINDINGS = "array<struct<name: string, sentence: string>>"
RECOVERY = (
    "array<struct<fault: string, kind: string, topic: string, partition: int, affected: boolean, gap_s: double, "
    "gap_from_s: double, censored: boolean, detect_s: double, elect_s: double, first_success_s: double, "
    "full_isr_s: double, drained_s: double, bound_s: double, within: boolean>>"
)


@dataclass(frozen=True, slots=True)
class Field:
    document: str
    name: str
    kind: str
    words: str
    required: bool = False

    @property
    def column(self) -> str:
        return f"{self.document}_{self.name}"


FIELDS = (
    Field("manifest", "run_id", "string", "a name", required=True),
    Field("manifest", "scenario", "string", "a name", required=True),
    Field("manifest", "promise", "string", "a sentence"),
    Field("manifest", "kafka", "string", "a version"),
    Field("manifest", "seed", "bigint", "an integer"),
    Field("manifest", "started", "timestamp", "a time"),
    Field("manifest", "options", "map<string, string>", "an object"),
    Field("manifest", "settings", "string", "a name"),
    Field("manifest", "client_config", "map<string, string>", "an object"),
    Field("manifest", "brokers", "int", "a number"),
    Field("manifest", "controllers", "int", "a number"),
    Field("manifest", "provider", "string", "a name"),
    Field("manifest", "security", "string", "a name"),
    Field("manifest", "permitted", NAMES, "a list of anomalies"),
    Field("verdict", "verdict", "string", f"one of {', '.join(VERDICTS)}", required=True),
    Field("verdict", "reasons", NAMES, "a list of sentences"),
    Field("verdict", "acknowledged", "bigint", "a number"),
    Field("verdict", "read", "bigint", "a number"),
    Field("verdict", "rows", "bigint", "a number"),
    Field("verdict", "counts", "map<string, bigint>", "an object of numbers"),
    Field("verdict", "findings", FINDINGS, "a list of findings"),
    Field("verdict", "recovery", RECOVERY, "a list of rows as check writes them"),
)


def summarised(documents: DataFrame) -> DataFrame:
    """Documents: `folder`, `manifest`, `verdict` (texts; null: missing), and `duration_s`, `trouble` if they are known.

    The columns of SUMMARY and `trouble`: null, or why the row must not be used. Then little else in it is sure.
    """
    known = F.col("duration_s") if "duration_s" in documents.columns else F.lit(None)
    before = F.col("trouble") if "trouble" in documents.columns else F.lit(None)
    parsed = documents.select(
        "folder",
        known.cast("double").alias("duration_s"),
        before.cast("string").alias("trouble_before"),
        *(F.col(name).isNull().alias(f"no_{name}") for name in ("manifest", "verdict")),
        *(F.ltrim(F.col(name)).startswith("{").alias(f"{name}_opens") for name in ("manifest", "verdict")),
        *(F.try_parse_json(F.col(name)).alias(name) for name in ("manifest", "verdict")),
    )
    typed = parsed.select("*", *(_typed(field).alias(field.column) for field in FIELDS))
    dated = typed.withColumn("date", F.coalesce(F.to_date("manifest_started"), _date_of_folder()))
    return dated.select(*_columns(), F.coalesce("trouble_before", _trouble()).alias("trouble"))


def _typed(field: Field) -> Column:
    return F.try_variant_get(F.col(field.document), f"$.{field.name}", field.kind)


def _text(document: str, name: str) -> Column:
    return F.try_variant_get(F.col(document), f"$.{name}", "string")


def _date_of_folder() -> Column:
    return F.regexp_extract("folder", r"(?:^|/)(\d{4}-\d{2}-\d{2})/[^/]+/[^/]+/?$", 1).try_cast("date")


def _columns() -> list[Column]:
    named = {
        "key": _key(),
        "run_id": F.col("manifest_run_id"),
        "scenario": F.col("manifest_scenario"),
        "promise": F.coalesce("manifest_promise", F.lit("")),
        "kafka": F.coalesce("manifest_kafka", F.lit("unknown")),
        "config": config_words(),
        "seed": F.col("manifest_seed"),
        "started": F.coalesce("manifest_started", F.col("date").cast("timestamp")),
        "duration_s": F.col("duration_s"),
        "verdict": F.col("verdict_verdict"),
        "reasons": F.coalesce("verdict_reasons", F.array().cast(NAMES)),
        "acknowledged": F.coalesce("verdict_acknowledged", F.lit(0)).cast("bigint"),
        "read": F.coalesce("verdict_read", F.lit(0)).cast("bigint"),
        "rows": F.coalesce("verdict_rows", F.lit(0)).cast("bigint"),
        "counts": F.coalesce(_found(), F.create_map().cast("map<string, bigint>")),
        "permitted": F.coalesce("manifest_permitted", F.array().cast(NAMES)),
        "findings": F.coalesce(_told(), F.array().cast(FINDINGS)),
        "recovery": F.coalesce("verdict_recovery", F.array().cast(RECOVERY)),
        "folder": F.col("folder"),
        "date": F.col("date"),
    }
    return [column.alias(name) for name, column in named.items()]


def _key() -> Column:
    parts = [F.col("date").cast("string"), *(F.translate(f"manifest_{name}", "/", "_") for name in ("scenario", "run_id"))]
    return F.when(F.col("date").isNotNull(), F.concat_ws("/", *parts))


def _found() -> Column:
    return F.map_filter("verdict_counts", lambda _name, count: count > 0)


def _told() -> Column:
    names = F.transform("verdict_findings", lambda finding: finding["name"])
    return F.filter(
        "verdict_findings",
        lambda finding, nth: (nth < SENTENCES) | (F.array_position(names, finding["name"]) == nth + 1),
    )


def _trouble() -> Column:
    """The first that holds, in the order in which somebody would look."""
    manifest, verdict, format_ = _file("manifest"), _file("verdict"), _text("manifest", "format")
    newer = F.concat(
        manifest, F.lit(": format "), _shown(format_), F.lit(f" is newer than {FORMAT}, the newest this version reads: "),
        F.lit("use the kafka-trial that wrote it."),
    )  # fmt: skip
    understood = F.coalesce(F.try_variant_get(F.col("manifest"), "$.format", "int"), F.lit(FORMAT + 1)) <= FORMAT
    checks = [
        (F.col("no_manifest"), _said(F.col("folder"), "has no manifest.json: it is not a run folder, or a torn one.")),
        (~_is_object("manifest"), _said(manifest, "is not a JSON object, is it cut off?")),
        (format_.isNotNull() & ~understood, newer),
        (F.col("no_verdict"), _said(F.col("folder"), "has no verdict.json yet: judge it with kafka-trial check.")),
        (~_is_object("verdict"), _said(verdict, "is not a JSON object, is it cut off?")),
        *(check for field in FIELDS for check in _checks(field)),
        (F.col("date").isNull(), _said(manifest, "has no time in started, and the folder lies under no date.")),
    ]
    return reduce(
        lambda rest, check: F.when(check[0], check[1]).otherwise(rest), reversed(checks), F.lit(None).cast("string")
    )


def _checks(field: Field) -> list[tuple[Column, Column]]:
    value, file, column = _text(field.document, field.name), _file(field.document), F.col(field.column)
    wrong = F.concat(file, F.lit(f": {field.name} is "), _shown(value), F.lit(f", not {field.words}."))
    checks = [(column.isNull() & value.isNotNull(), wrong)]
    if field.required:
        missing = F.concat(file, F.lit(f": {field.name} is missing: it must be {field.words}."))
        checks.append((column.isNull() | (column == ""), missing))
    if field.column == "verdict_verdict":
        checks.append((~column.isin(*VERDICTS), wrong))
    if field.column == "verdict_counts":  # a value of another kind is null
        checks.append((F.exists(F.map_values(column), lambda count: count.isNull()), wrong))
    return checks


def _is_object(document: str) -> Column:
    return F.col(document).isNotNull() & F.col(f"{document}_opens")


def _said(of: Column, words: str) -> Column:
    return F.concat(of, F.lit(f" {words}"))


def _file(document: str) -> Column:
    return F.concat(F.col("folder"), F.lit(f"/{document}.json"))


def _shown(value: Column) -> Column:
    return F.when(F.length(value) > SHOWN, F.concat(F.left(value, F.lit(SHOWN)), F.lit(" …"))).otherwise(value)
