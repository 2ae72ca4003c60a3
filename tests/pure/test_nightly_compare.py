"""Which runs are compared with which, and what is said of it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from spark_reports.contents import RecoveryRow, Run, Totals
from spark_reports.nightly import sentences
from spark_reports.nightly.compare import Question, expected, matched, new_failures, ordered, questions, undecided
from spark_reports.nightly.flaky import flaky
from spark_reports.nightly.samples import NOTHING, recovery_sample, version, worst_gap
from spark_reports.nightly.trends import trend

NIGHT = date(2026, 11, 16)
numbers = iter(range(1_000_000))


def gap(seconds: float, *, open_: bool = False, operation: Any = "send", affected: bool | None = True) -> RecoveryRow:
    return RecoveryRow(
        fault="f1", operation=operation, topic="orders", partition=0, affected=affected, gap_s=seconds, open=open_,
        detect_s=None, elect_s=None, first_success_s=None, full_isr_s=None, drained_s=None, bound_s=None, within=None,
    )  # fmt: skip


def ran(*gaps: RecoveryRow, night: date = NIGHT, **facts: Any) -> Run:
    nth = next(numbers)
    worst = worst_gap(gaps, "send")
    plain: dict[str, Any] = {
        "key": f"{night}/storm/r{nth}", "run_id": f"r{nth}", "date": night, "scenario": "storm", "kafka": "4.3.1",
        "started": datetime(night.year, night.month, night.day, tzinfo=UTC) + timedelta(seconds=nth), "seed": None,
        "duration_s": None, "verdict": "PASS", "reasons": [], "acknowledged": 1, "read": 1, "rows": 1, "counts": {},
        "permitted": [], "findings": [], "recovery_s": worst and worst[0], "recovery_open": bool(worst and worst[1]),
        "availability": None, "recovery": list(gaps), "faults": [], "folder": "/r", "report": None,
        "config": "c", "current": night == NIGHT,
    }  # fmt: skip
    return Run(**plain | facts)


def nights(*seconds: float, ago: int = 0, **facts: Any) -> list[Run]:
    return [ran(gap(value), night=NIGHT - timedelta(days=ago), **facts) for value in seconds]


def asked(now: list[Run], before: list[Run]) -> list[Question]:
    return questions(matched(now, before))


BEFORE = [9.0 + nth / 50 for nth in range(12)]
SLOWER = [14.0, 14.1, 14.2, 14.3]


def test_slower_recovery_is_a_regression_with_its_figures():
    [worse] = [one for one in asked(nights(*SLOWER), nights(*BEFORE, ago=1)) if one.is_worse]

    said = sentences.slower(worse, NOTHING, NOTHING)

    assert said.sentence == "storm takes 14.1 s to recover on 4.3.1, before 9.1 s."
    assert (said.now, said.before) == ("14.1 s (n = 4)", "9.1 s (n = 12)")
    assert (said.kind, said.operation, said.baseline_kafka) == ("recovery", "send", "4.3.1")
    assert said.effect == 1.0


def test_the_same_recovery_is_none_and_the_other_way_round_it_is_good_news():
    now, before = nights(*BEFORE[:5]), nights(*BEFORE, ago=1)
    better = asked(nights(*BEFORE[:4]), nights(*SLOWER * 3, ago=1))

    assert not any(one.is_worse or one.is_better for one in asked(now, before))
    assert [one.is_better for one in better if one.operation == "send"] == [True]
    assert not any(one.is_worse for one in better)
    assert sentences.changes([], better, {}, 0) == ["storm takes 9.0 s to recover on 4.3.1, before 14.1 s: better."]


def test_three_runs_are_too_few_to_say():
    few = asked(nights(*SLOWER[:3]), nights(*BEFORE, ago=1))

    assert not any(one.is_worse for one in few)
    assert len(undecided(few)) == 1
    assert undecided(asked(nights(*SLOWER), nights(*BEFORE, ago=1))) == []
    assert "fewer than 4 runs now or before" in sentences.changes([], few, {}, 1)[0]


def test_availability_is_compared_too():
    now = [ran(availability=share) for share in (0.90, 0.91, 0.92, 0.93)]
    before = [ran(night=NIGHT - timedelta(days=1), availability=0.98 + nth / 1000) for nth in range(12)]
    [worse] = [one for one in asked(now, before) if one.is_worse]

    assert worse.operation is None
    assert sentences.slower(worse, NOTHING, NOTHING).sentence == (
        "storm is available 92.00 % of the time, before 98.60 %, on 4.3.1."
    )
    hardly = [ran(night=NIGHT - timedelta(days=1), availability=0.999) for _ in range(12)]
    assert not any(one.is_worse for one in asked([ran(availability=0.997) for _ in range(4)], hardly))


def test_a_failure_where_all_passed_is_a_regression_at_once():
    before = nights(9.0, 9.1, ago=1) + nights(9.2, ago=2, verdict="INCONCLUSIVE")
    now = nights(9.0) + nights(9.1, verdict="FAIL", reasons=["4 are lost."])

    [match] = new_failures(matched(now, before))
    said = sentences.broken(match)

    assert said.sentence == "storm fails on 4.3.1: 1 of 2 runs, all 2 before passed. 4 are lost."
    assert (said.now, said.before, said.runs) == ("1 of 2 failed", "0 of 2 failed", [now[1].key])


def test_a_failure_is_none_where_something_failed_before_or_nothing_was_sure():
    failing = nights(9.0, verdict="FAIL")

    assert new_failures(matched(failing, nights(9.0, ago=1) + nights(9.1, ago=1, verdict="FAIL"))) == []
    assert new_failures(matched(failing, nights(9.0, ago=1, verdict="INCONCLUSIVE"))) == []
    assert new_failures(matched(failing, [])) == []
    assert new_failures(matched(nights(9.0, verdict="INCONCLUSIVE"), nights(9.0, ago=1))) == []


def test_a_twin_that_no_longer_fails_is_a_change():
    matches = matched(nights(9.0), nights(9.0, 9.1, ago=1, verdict="FAIL"))

    assert sentences.changes(matches, [], {}, 0) == ["storm on 4.3.1 passes: 1 of 1 run; all 2 before failed."]
    assert expected(matches[0]) == "FAIL"
    assert expected(matched(nights(9.0), nights(9.0, ago=1) + nights(9.0, ago=1, verdict="FAIL"))[0]) is None
    assert sentences.changes(matched(nights(9.0), nights(9.0, ago=1)), [], {}, 0) == []


def test_more_doubt_than_before_is_a_change_and_no_regression():
    matches = matched(nights(9.0, verdict="INCONCLUSIVE"), nights(9.0, 9.1, ago=1))

    assert sentences.changes(matches, [], {}, 0) == ["storm on 4.3.1 is inconclusive more often: 1 of 1 run, before 0 of 2."]
    assert expected(matches[0]) == "PASS"


def test_runs_are_compared_under_the_same_configuration_alone():
    [match] = matched(nights(9.0, config="acks=1"), nights(9.0, config="acks=all", ago=1))

    assert match.before == []
    assert sentences.changes([match], [], {}, 0) == ["storm on 4.3.1 (acks=1) is new."]


def test_a_version_without_a_past_is_compared_with_the_newest_other():
    before = nights(9.0, kafka="4.9.1", ago=1) + nights(9.0, kafka="4.10.0", ago=2) + nights(9.0, kafka="3.9.1", ago=1)
    [match] = matched(nights(9.0, kafka="4.11.0"), before)

    assert match.baseline_kafka == "4.10.0"
    assert [run.kafka for run in match.before] == ["4.10.0"]
    assert version("4.10.0") > version("4.9.1") > version("unknown")
    assert matched(nights(9.0, kafka="4.9.1"), before)[0].baseline_kafka == "4.9.1"


def test_the_worst_gap_of_a_run_is_on_a_partition_that_was_touched():
    rows = [gap(3.0), gap(8.0), gap(40.0, affected=False), gap(30.0, affected=None), gap(5.0, operation="poll")]

    assert worst_gap(rows, "send") == (8.0, False)
    assert worst_gap(rows, "poll") == (5.0, False)
    assert worst_gap([gap(40.0, affected=False)], "send") is None
    assert worst_gap([gap(8.0), gap(3.0, open_=True)], "send") == (8.0, True)


def test_flaky_needs_the_same_seed_and_another_verdict():
    runs = [ran(seed=1), ran(seed=1, verdict="FAIL"), ran(seed=2), ran(seed=3, verdict="FAIL"), ran(), ran(verdict="FAIL")]

    assert [(one.seed, one.verdicts) for one in flaky(runs)] == [(1, {"FAIL": 1, "PASS": 1})]
    assert flaky([ran(seed=1), ran(seed=1)]) == []
    assert flaky([ran(seed=1), ran(seed=1, verdict="FAIL", config="other")]) == []


def test_a_trend_keeps_open_values_apart_and_another_versions_nights_out():
    before = nights(9.0, 9.2, 9.4, ago=1, kafka="4.2.0")
    now = [ran(gap(10.0), kafka="4.3.0"), ran(gap(18.0, open_=True), kafka="4.3.0")]
    line = trend(matched(now, before)[0], "send", NOTHING)

    assert line is not None
    assert [(point.date, point.values, point.open_values, point.median_s) for point in line.points] == [
        (NIGHT, [10.0], [18.0], 10.0)
    ]
    assert line.baseline is not None
    assert (line.baseline.low_s, line.baseline.median_s, line.baseline.high_s) == (9.0, 9.2, 9.4)
    assert trend(matched([ran()], [])[0], "send", NOTHING) is None


def test_a_sample_knows_what_is_open():
    sample = recovery_sample([ran(gap(9.0)), ran(gap(18.0, open_=True)), ran()], "send")

    assert (sample.values, sample.open) == ((9.0, 18.0), (False, True))
    assert sentences.length(sample) == "9.0 s"
    assert sentences.length(recovery_sample([ran(gap(18.0, open_=True))], "send")) == "more than 18.0 s"


def test_the_headline_says_what_is_worst_or_that_nothing_is():
    totals = Totals(runs=48, passed=46, failed=0, inconclusive=2, unreadable=0, acknowledged=1)
    [worse] = [one for one in asked(nights(*SLOWER), nights(*BEFORE, ago=1)) if one.is_worse]
    slow = sentences.slower(worse, NOTHING, NOTHING)
    broken = sentences.broken(matched(nights(9.0, verdict="FAIL"), nights(9.0, ago=1))[0])

    assert sentences.headline([], totals, compared=True) == "Nothing got worse: 48 runs, 46 passed, 2 inconclusive."
    assert sentences.headline([], totals, compared=False).startswith("There are no earlier nights to compare with: 48 runs")
    assert [one.kind for one in ordered([slow, broken])] == ["verdict", "recovery"]
    assert sentences.headline(ordered([slow, broken]), totals, compared=True) == (
        "storm fails on 4.3.1: 1 of 1 run, the only one before passed. 1 more got worse."
    )


def test_what_did_not_run_is_said():
    gone = {"storm": ran(night=NIGHT - timedelta(days=3))}

    assert sentences.changes([], [], gone, 0) == ["storm did not run; its last run is of 2026-11-13."]
