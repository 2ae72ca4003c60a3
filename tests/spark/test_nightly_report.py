"""Run folders in, one document out: what it says of a bad night, and that it says nothing of the kind of a calm one."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kernel.errors import NoSpace, UsageError
from spark_reports.contents import Report
from spark_reports.nightly.report import nightly
from spark_reports.nightly.schemas import DARKNESS, HAPPENED, SUMMARY
from spark_reports.nightly.store import Store
from tests.spark.night import DAMAGES, Night, make_runs, write_run

LAST = date(2026, 11, 16)
MADE = datetime(2026, 11, 17, 6, tzinfo=UTC)
SLOW, BROKEN, CALM = "leader-election", "rolling-restart", "controller-election"


def draw(report: Report, into: Path) -> None:
    (into / "report.json").write_text(report.model_dump_json())
    (into / "index.html").write_text(report.headline)


def report(spark: SparkSession, runs: Path | None, out: Path, **wishes: Any) -> Report:
    return nightly(spark, runs=runs, out=out, **{"made": MADE, "made_by": "kafka-trial 0", "draw": draw} | wishes)


def versions(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "versions").iterdir())


def content(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*.parquet"))}


class Story:
    """One bad night after five good ones, reported; the folders stay as they are."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.runs, self.out = folder / "runs", folder / "out"
        night = Night(
            runs=72, nights=6, scenarios=(SLOW, BROKEN, CALM), slower={SLOW: (LAST, 1.5)}, failing={BROKEN: LAST},
            flaky=(CALM,), censored=(BROKEN,), watched=(SLOW, CALM), silent=(CALM,), damaged=DAMAGES, last=LAST,
        )  # fmt: skip
        self.folders = make_runs(self.runs, night)
        self.report = report(spark, self.runs, self.out)


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(spark, tmp_path_factory.mktemp("story"))


def test_the_current_night_is_the_newest_and_the_baseline_what_lies_before(story: Story):
    said = story.report

    assert (said.current.first, said.current.last, said.current.runs) == (LAST, LAST, 14)
    assert said.baseline is not None
    assert (said.baseline.first, said.baseline.last, said.baseline.runs) == (date(2026, 11, 11), date(2026, 11, 15), 60)
    assert "30 days before 2026-11-16" in said.baseline_words
    assert len(said.runs) == 74
    assert len({run.key for run in said.runs}) == 74


def test_what_broke_is_told_before_what_is_slow(story: Story):
    kinds = [(one.kind, one.scenario, one.operation) for one in story.report.regressions]

    assert kinds[:2] == [("verdict", BROKEN, None), ("recovery", SLOW, "send")]
    assert all(scenario != CALM for _, scenario, _ in kinds)
    assert story.report.regressed
    assert story.report.headline.startswith("rolling-restart fails on 4.3.1: 4 of 4 runs, all 20 before passed.")


def test_a_slower_recovery_has_its_figures(story: Story):
    slower = next(one for one in story.report.regressions if one.kind == "recovery")

    assert slower.p_value is not None
    assert slower.p_value < 0.05
    assert slower.effect is not None
    assert slower.effect > 0.474
    assert slower.ratio == pytest.approx(1.5, abs=0.15)
    assert " s to recover on 4.3.1, before 9." in slower.sentence
    assert "n = 6" in slower.now  # the damaged ledgers' verdicts count: they were judged
    assert "n = 20" in slower.before
    assert slower.runs[0].startswith("2026-11-16/leader-election/")


def test_anomalies_name_run_and_folder(story: Story):
    lost = [one for one in story.report.anomalies if one.name == "lost-write"]

    assert len(story.report.anomalies) == len(lost) == 4
    assert {one.count for one in lost} == {4}
    assert lost[0].sentence == "orders-0 @ 12 was acknowledged to producer-1 and is gone."
    assert all(Path(one.folder).is_dir() and not one.permitted for one in lost)


def test_damaged_folders_are_listed_each_with_its_sentence(story: Story):
    said = {Path(one.folder).name: one.sentence for one in story.report.unreadable}

    assert sorted(said) == ["damaged-format", "damaged-manifest", "damaged-no-verdict", "damaged-verdict-word"]
    assert "format 7 is newer than 1" in said["damaged-format"]
    assert "is not a JSON object" in said["damaged-manifest"]
    assert "has no verdict.json yet: judge it with kafka-trial check" in said["damaged-no-verdict"]
    assert "verdict is MAYBE, not one of PASS, FAIL, INCONCLUSIVE" in said["damaged-verdict-word"]
    assert story.report.totals.unreadable == 4


def test_a_damaged_ledger_costs_its_figures_and_not_the_run(story: Story):
    troubled = {run.run_id: run for run in story.report.runs if run.trouble}

    assert sorted(troubled) == ["damaged-ledger", "damaged-page"]
    assert all("producer-1.parquet cannot be read" in (run.trouble or "") for run in troubled.values())
    assert all(run.verdict == "PASS" and run.availability is None for run in troubled.values())
    assert all(run.availability is not None for run in story.report.runs if not run.trouble)


def test_the_same_seed_with_two_verdicts_is_flaky_and_others_are_not(story: Story):
    assert [(one.scenario, one.seed, one.verdicts) for one in story.report.flaky] == [
        (CALM, 7, {"INCONCLUSIVE": 12, "PASS": 12})
    ]


def test_delays_are_measured_where_somebody_spoke_and_missed_where_nobody_did(story: Story):
    said = {(one.scenario, one.kind): one for one in story.report.delays}

    assert sorted(said) == [(CALM, "alert"), (CALM, "lag"), (SLOW, "alert"), (SLOW, "lag")]
    assert said[SLOW, "lag"].name == "STALLED"
    assert 2 <= (said[SLOW, "lag"].spread.median_s or 0) <= 4
    assert said[SLOW, "alert"].name == "UnderReplicatedPartitions"
    assert 5 <= (said[SLOW, "alert"].spread.median_s or 0) <= 9
    assert (said[SLOW, "lag"].missed, said[SLOW, "alert"].missed) == (0, 0)
    assert (said[CALM, "lag"].missed, said[CALM, "lag"].spread.n) == (4, 0)


def test_audits_come_from_the_runs_that_had_one(story: Story):
    assert {one.scenario for one in story.report.audits} == {SLOW}
    assert story.report.audits[0].missing == 2
    assert story.report.audits[0].completeness == pytest.approx(0.998)


def test_the_slowest_partition_is_the_one_that_never_came_back(story: Story):
    slowest = story.report.slowest[0]

    assert (slowest.scenario, slowest.topic, slowest.partition, slowest.operation) == (BROKEN, "orders", 0, "send")
    assert slowest.open
    assert slowest.longest_s == pytest.approx(18.0, abs=0.1)
    assert not story.report.slowest[1].open


def test_a_scenario_has_its_cells_trends_and_the_timeline_of_its_worst_run(story: Story):
    scenario = next(one for one in story.report.scenarios if one.name == SLOW)
    cell, send = scenario.cells[0], next(one for one in scenario.trends if one.operation == "send")

    assert (cell.runs, cell.passed, cell.expected, cell.latest_verdict) == (6, 6, "PASS", "PASS")
    assert cell.config == "acks=all how=kill rate=300 · default · 3 brokers · processes"
    assert len(send.points) == 6
    assert send.baseline is not None
    assert send.baseline.n == 20
    assert send.baseline.low_s < send.baseline.median_s < send.baseline.high_s < (send.points[-1].median_s or 0)
    worst = scenario.worst
    assert worst is not None
    assert worst.run == max((run for run in story.report.runs if run.current and run.scenario == SLOW and not run.trouble),
                            key=lambda run: run.recovery_s or 0).key  # fmt: skip
    assert [fault.begin_s for fault in worst.faults] == [6.0]
    assert worst.lanes[0].dark[0].begin_s == pytest.approx(6.0, abs=0.1)
    assert {mark.kind for mark in worst.marks} == {"election", "lag", "alert"}
    begin, end = int(7 / worst.bucket_s), int(12 / worst.bucket_s)
    assert sum(worst.acked[begin:end]) == 0
    assert sum(worst.acked) == sum(worst.read) == 3 * 23 * 20


def test_the_band_of_a_trend_does_not_know_the_current_night(story: Story):
    scenario = next(one for one in story.report.scenarios if one.name == SLOW)

    assert all(trend.baseline is None or trend.baseline.high_s < 11 for trend in scenario.trends)


def test_what_a_run_took_and_its_faults_come_from_its_events(story: Story):
    run = next(run for run in story.report.runs if run.scenario == SLOW and run.current and not run.trouble)

    assert run.duration_s == 25.0
    assert [(fault.id, fault.begin_s, fault.end_s, fault.bite_s) for fault in run.faults] == [("f1", 6.0, 20.0, 6.02)]
    assert run.availability == pytest.approx(1 - (run.recovery_s or 0) * 0.98 / 23 / 2, abs=0.01)


def test_recovery_agrees_with_the_ledger(story: Story, spark: SparkSession):
    """What verdict.json says and what the ledger shows are measured apart."""
    longest = {
        row["key"]: row["longest_s"]
        for row in Store(story.out).table(spark, "darkness", DARKNESS).where("kind = 'send' and partition = 0").collect()
    }
    runs = [run for run in story.report.runs if run.key in longest]

    assert len(runs) == 72
    assert all(run.recovery_s == pytest.approx(longest[run.key], abs=0.06) for run in runs)


def test_the_tables_hold_what_their_schemas_say(story: Story, spark: SparkSession):
    store = Store(story.out)

    assert store.table(spark, "summary", SUMMARY).count() == 74
    assert store.table(spark, "darkness", DARKNESS).where("date = '2026-11-16'").select("key").distinct().count() == 12
    assert store.table(spark, "happened", HAPPENED).where("event = 'fault'").count() == 74


def test_the_same_night_again_changes_nothing(story: Story, spark: SparkSession):
    before, states = content(story.out), versions(story.out)

    again = report(spark, story.runs, story.out, made=datetime(2026, 11, 18, tzinfo=UTC))

    assert again == story.report
    assert versions(story.out) == states
    assert content(story.out) == before


def test_from_the_tables_alone_with_other_nights_to_judge(story: Story, spark: SparkSession, tmp_path: Path):
    out = tmp_path / "out"
    shutil.copytree(story.out, out, symlinks=True)

    said = report(spark, None, out, since=date(2026, 11, 15), baseline="2026-11-11..2026-11-12")

    assert (said.current.first, said.current.runs) == (date(2026, 11, 15), 26)
    assert said.baseline is not None
    assert (said.baseline.last, said.baseline.runs) == (date(2026, 11, 12), 24)
    assert said.baseline_words == "the nights from 2026-11-11 to 2026-11-12, as asked for"
    assert len(said.unreadable) == 4  # as the last look at the folders found them
    tables = {name: data for name, data in content(out).items() if name.startswith("versions/2/")}
    assert {f"versions/1/{name[11:]}": data for name, data in tables.items()} == content(story.out)


def test_an_earlier_report_is_a_baseline_too(story: Story, spark: SparkSession, tmp_path: Path):
    """A month ago it was as bad: then nothing got worse."""
    out, earlier = tmp_path / "out", tmp_path / "earlier.json"
    shutil.copytree(story.out, out, symlinks=True)
    past = [run.model_copy(update={"key": run.key.replace("11", "10", 1)}) for run in story.report.runs]
    earlier.write_text(story.report.model_copy(update={"runs": past}).model_dump_json())

    said = report(spark, None, out, baseline=str(earlier))

    assert said.baseline is not None
    assert said.baseline.runs == 14
    assert "judged in an earlier report" in said.baseline_words
    assert not said.regressed
    assert said.headline.startswith("Nothing got worse: 14 runs, ")
    assert len({run.key for run in said.runs}) == len(said.runs) == 28


def test_a_report_on_the_same_runs_is_no_baseline(story: Story, spark: SparkSession):
    with pytest.raises(UsageError, match="a report on the very runs that are to be judged"):
        report(spark, None, story.out, baseline=str(story.out / "report.json"))


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of two nights, reported."""
    folder = tmp_path_factory.mktemp("small")
    make_runs(folder / "runs", runs=6, nights=2, scenarios=(CALM,), last=LAST)
    said = report(spark, folder / "runs", folder / "out")
    assert said.headline == "Nothing got worse: 3 runs, 3 passed."
    return folder


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """Reports to go on from; the runs stay where they are."""
    shutil.copytree(small, tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


def test_a_calm_night_is_said_to_be_calm(small: Path):
    said = Report.model_validate_json((small / "out" / "report.json").read_bytes())

    assert (said.regressed, said.regressions, said.flaky, said.anomalies) == (False, [], [], [])
    assert (said.unreadable, said.clashes, said.delays, said.audits) == ([], [], [], [])
    assert said.changes == [
        "Whether recovery takes longer cannot be said of 1 configuration: fewer than 4 runs now or before."
    ]


def test_runs_moved_pruned_judged_again_and_two_under_one_name(spark: SparkSession, tmp_path: Path):
    runs, out = tmp_path / "runs", tmp_path / "out"
    make_runs(tmp_path / "first", runs=6, nights=2, scenarios=(CALM,), last=LAST)
    before = report(spark, tmp_path / "first", out)
    (tmp_path / "first").rename(runs)
    pruned, judged_again, twice = sorted((runs / "2026-11-16" / CALM).iterdir())
    shutil.rmtree(pruned)
    verdict = judged_again / "verdict.json"
    verdict.write_text(json.dumps(json.loads(verdict.read_text()) | {"verdict": "FAIL", "reasons": ["Now it is seen."]}))
    clash = runs / "2026-11-16" / "elsewhere" / twice.name
    shutil.copytree(twice, clash)

    said = report(spark, runs, out)

    assert said.totals.runs == 3  # pruned, and in the tables all the same
    now = {run.run_id: run for run in said.runs if run.current}
    assert now[judged_again.name].verdict == "FAIL"
    assert now[judged_again.name].reasons == ["Now it is seen."]
    assert [one.kind for one in said.regressions] == ["verdict"]
    # The same run at another place is no clash; two that are both there are.
    assert before.clashes == []
    assert [(one.key, one.folders) for one in said.clashes] == [
        (f"2026-11-16/{CALM}/{twice.name}", [str(twice), str(clash)])
    ]
    assert now[twice.name].folder == str(twice)

    states = versions(out)
    assert report(spark, runs, out) == said
    assert versions(out) == states


def test_a_run_on_another_version_is_compared_with_the_newest_there_is(copy: Path, spark: SparkSession):
    for nth in range(4):
        write_run(
            copy / "more", Night(), scenario=CALM, run_id=f"new-{nth}", started=datetime(2026, 11, 17, nth, tzinfo=UTC),
            kafka="4.4.0", gap=9.0 + nth / 10,
        )  # fmt: skip

    said = report(spark, copy / "more", copy / "out")

    assert [cell.kafka for cell in said.scenarios[0].cells] == ["4.4.0"]
    assert "controller-election ran on 4.4.0 for the first time: it is compared with 4.3.1." in said.changes
    assert not said.regressed


def test_documents_add_runs_and_a_verdict_that_changed_but_nothing_twice(copy: Path, spark: SparkSession):
    """As they come from the results topic."""
    known = sorted((copy / "runs" / "2026-11-16" / CALM).iterdir())
    texts = [(str(path), *((path / name).read_text() for name in ("manifest.json", "verdict.json"))) for path in known]
    unknown = json.dumps(json.loads(texts[0][1]) | {"run_id": "far-away"})
    changed = json.dumps(json.loads(texts[1][2]) | {"verdict": "INCONCLUSIVE"})
    told = [
        texts[0],
        (texts[1][0], texts[1][1], changed),
        ("/else/where", unknown, texts[0][2]),
        ("/bad", "{", None),
    ]
    documents = spark.createDataFrame(told, "folder string, manifest string, verdict string")

    said = report(spark, None, copy / "out", documents=documents)

    now = {run.run_id: run for run in said.runs if run.current}
    assert len(now) == 4
    assert now[known[1].name].verdict == "INCONCLUSIVE"
    assert now[known[1].name].duration_s == 25.0  # what only its folder told
    assert now["far-away"].verdict == "PASS"
    assert now["far-away"].duration_s is None
    assert [one.folder for one in said.unreadable] == ["/bad"]


def test_reports_may_lie_among_the_runs(spark: SparkSession, tmp_path: Path):
    make_runs(tmp_path, runs=1, nights=1, scenarios=(CALM,))
    out = tmp_path / "report"

    first = report(spark, tmp_path, out)
    (out / "versions" / "1" / "ledger").mkdir()  # looks like a run from outside

    assert report(spark, tmp_path, out) == first
    assert first.totals.runs == 1
    assert first.headline == "There are no earlier nights to compare with: 1 run, 1 passed."
    assert first.baseline is None


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"since": date(2026, 12, 1)}, "No run is of 2026-12-01 or later: the newest is of 2026-11-16"),
        ({"baseline": "last-week"}, "--baseline 'last-week' is neither a span of dates nor a report"),
        ({"baseline": "2026-11-09..2026-11-01"}, "ends before it begins"),
        ({"baseline": "2020-01-01..2020-02-01"}, "no run of those nights is known"),
        ({"baseline": "{small}/runs"}, "is neither a span of dates nor a report"),
        ({"runs": "{small}/nowhere"}, "nowhere is not a directory"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_last_report_stays(
    small: Path, spark: SparkSession, wishes: dict[str, Any], sentence: str
):
    filled = {name: value.format(small=small) if isinstance(value, str) else value for name, value in wishes.items()}
    runs = Path(filled.pop("runs")) if "runs" in filled else None
    before = {path: path.lstat().st_mtime_ns for path in (small / "out").rglob("*") if path.name != ".lock"}

    with pytest.raises(UsageError) as refused:
        report(spark, runs, small / "out", **filled)

    assert sentence in refused.value.message
    after = {path: path.lstat().st_mtime_ns for path in (small / "out").rglob("*") if path.name != ".lock"}
    assert {path: when for path, when in after.items() if not path.is_dir()} == {
        path: when for path, when in before.items() if not path.is_dir()
    }


def test_a_baseline_that_is_no_report_is_refused(small: Path, spark: SparkSession, tmp_path: Path):
    (tmp_path / "other.json").write_text('{"made": "today"}')

    with pytest.raises(UsageError, match=r"other\.json is no report\.json of kafka-trial"):
        report(spark, None, small / "out", baseline=str(tmp_path / "other.json"))


def test_without_runs_and_without_tables_there_is_nothing_to_say(spark: SparkSession, tmp_path: Path):
    (tmp_path / "runs").mkdir()

    with pytest.raises(UsageError, match="There is no run in"):
        report(spark, tmp_path / "runs", tmp_path / "out")
    with pytest.raises(UsageError, match="holds no tables yet"):
        report(spark, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_only_damaged_runs_are_nothing_to_report_on(spark: SparkSession, tmp_path: Path):
    make_runs(tmp_path / "runs", runs=1, nights=1, scenarios=(CALM,))
    next((tmp_path / "runs").rglob("verdict.json")).unlink()

    with pytest.raises(UsageError, match=r"There is no run to report on: none of 1 folders .*has no verdict\.json yet"):
        report(spark, tmp_path / "runs", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(disk_of: Callable[[str], Path]) -> Path:
    return disk_of("600k")


def test_a_disk_that_fills_while_pages_are_drawn_leaves_the_last_report(copy: Path, spark: SparkSession, small_disk: Path):
    shutil.copytree(copy / "out", small_disk / "out", symlinks=True)
    before = content(small_disk / "out")

    def too_much(said: Report, into: Path) -> None:
        (into / "index.html").write_bytes(os.urandom(1_000_000))

    with pytest.raises(NoSpace, match="The last report is untouched"):
        report(spark, None, small_disk / "out", draw=too_much, made_by="another version")

    assert content(small_disk / "out") == before
    assert (small_disk / "out" / "index.html").read_text() == "Nothing got worse: 3 runs, 3 passed."
