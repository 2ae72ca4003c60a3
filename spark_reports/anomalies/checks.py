"""The anomalies by what they are found from: each is counted, and told only if there is something to tell."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding
from spark_reports.anomalies import tellings
from spark_reports.anomalies.between import passed_over
from spark_reports.anomalies.cycles import Rings, cycles
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.missing import missing
from spark_reports.anomalies.own_reads import too_early
from spark_reports.anomalies.places import Places, certain_pages, unclear_seats
from spark_reports.anomalies.readers import COMMIT, READ, readers
from spark_reports.anomalies.records import Records, seated
from spark_reports.anomalies.senders import out_of_order
from spark_reports.anomalies.tellings import first_bits, first_values
from spark_reports.anomalies.torn import torn
from spark_reports.anomalies.values import Values, questions
from spark_reports.anomalies.witnesses import Witnesses


@dataclass(frozen=True, slots=True)
class Found:
    """The count is of all; the findings are the first of them."""

    count: int
    findings: list[Finding] = field(default_factory=list)


NOTHING = Found(0)
Several = dict[str, Found]


def _told(count: int, told: Callable[[], Iterable[Finding]]) -> Found:
    return Found(count, list(told())) if count else NOTHING


def of_values(records: Records, values: Values, look: Witnesses) -> Several:
    counts, asked = values.counts, questions()
    lost = unseen = NOTHING
    if counts["missing"]:
        gone = missing(records, values).transform(kept)
        below, beyond = gone.where("lost"), gone.where("not lost")
        lost = _told(below.count(), lambda: tellings.missing(look, first_values(below), lost=True))
        unseen = _told(beyond.count(), lambda: tellings.missing(look, first_values(beyond), lost=False))
    return {
        "lost-write": lost,
        "unseen-write": unseen,
        "aborted-read": _told(
            counts["aborted"], lambda: tellings.aborted_read(look, first_bits(values.pages, asked["aborted"]))
        ),
        "phantom-read": _told(
            counts["phantom"], lambda: tellings.phantom_read(look, first_bits(values.pages, asked["phantom"]))
        ),
    }


def of_transactions(records: Records, values: Values, look: Witnesses, rings: Rings) -> Several:
    found = dict.fromkeys(("torn-transaction", "precommitted-read", "write-read-cycle"), NOTHING)
    if values.counts["unbound"]:
        parts = torn(records, values).transform(kept)
        found["torn-transaction"] = _told(parts.count(), lambda: tellings.torn_transaction(look, parts))
    if values.counts["own"]:
        early = too_early(records, values).transform(kept)
        found["precommitted-read"] = _told(early.count(), lambda: tellings.precommitted_read(look, first_values(early)))
    if values.counts["passed_on"]:
        closed = cycles(records, values, rings)
        found["write-read-cycle"] = _told(
            len(closed), lambda: (findings.write_read_cycle(ring) for ring in closed[:MOST_FINDINGS])
        )
    return found


def of_seats(records: Records, values: Values, places: Places, look: Witnesses) -> Several:
    """As many seats as places: each place has one value. As many as values: each value has one place."""
    seats, crowded = places.seats, NOTHING
    if places.unclear:
        sat = unclear_seats(records, places).groupBy("tp", "offset").agg(F.count("*").alias("values")).transform(kept)
        seats += sat.agg(F.coalesce(F.sum("values"), F.lit(0))).collect()[0][0]
        shared = sat.where("values > 1")
        crowded = _told(shared.count(), lambda: tellings.inconsistent_offsets(look, shared))
    scattered = NOTHING
    if seats != values.counts["seated"]:
        spread = _scattered(records).transform(kept)
        scattered = _told(spread.count(), lambda: tellings.duplicate(look, first_values(spread)))
    return {"inconsistent-offsets": crowded, "duplicate": scattered}


def _scattered(records: Records) -> DataFrame:
    """Values that are in two places or more."""
    seats = records.both().where(seated()).groupBy("value")
    ends = seats.agg(*(edge(name).alias(f"{edge.__name__}_{name}") for name in ("tp", "offset") for edge in (F.min, F.max)))
    return ends.where("min_tp != max_tp or min_offset != max_offset").select("value")


def of_readers(records: Records, values: Values, places: Places, stretches: DataFrame, look: Witnesses) -> Several:
    walked = readers(records, stretches)
    back = walked.steps.where("back").select("c", "tp", F.col("op0").alias("op"), F.col("ix0").alias("ix"), "before")
    found = {"nonmonotonic-poll": _told(walked.back, lambda: tellings.nonmonotonic_poll(look, back))}
    found |= dict.fromkeys(("poll-skip", "commit-ahead"), NOTHING)
    if walked.leaps or walked.ragged or walked.ahead:
        passed = passed_over(walked, certain_pages(records, values, places))
        skips, ahead = passed.where(F.col("kind") == READ), passed.where(F.col("kind") == COMMIT)
        found["poll-skip"] = _told(skips.count(), lambda: tellings.poll_skip(look, skips))
        found["commit-ahead"] = _told(ahead.count(), lambda: tellings.commit_ahead(look, ahead))
    return found


def of_producers(records: Records, look: Witnesses) -> Several:
    if not records.ground.ordered_sends:
        return {"nonmonotonic-send": NOTHING}
    back = out_of_order(records.sends_alone()).transform(kept)
    return {"nonmonotonic-send": _told(back.count(), lambda: tellings.nonmonotonic_send(look, back))}
