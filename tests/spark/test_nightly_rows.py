"""Texts of runs → rows: what is read, what is refused and in which words, what happened when."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_reports.nightly.folders import run_folders
from spark_reports.nightly.happened import happened, moments
from spark_reports.nightly.reading import documents, events
from spark_reports.nightly.schemas import HAPPENED, SUMMARY
from spark_reports.nightly.summary import summarised
from spark_reports.nightly.told import news
from tests.spark.night import Night, make_runs

TEXTS = "folder string, manifest string, verdict string"
LEAST = {"run_id": "r1", "scenario": "storm", "permitted": [], "started": "2026-11-16T23:30:00-02:00"}


def rows(spark: SparkSession, *texts: tuple[Any, Any], folder: str = "/runs/2026-11-16/storm/r1") -> list[Any]:
    """In the order of the texts: each is a manifest and a verdict, as objects or as they stand in the file."""
    told = [(f"{nth:02}{folder}", *(one if isinstance(one, str | None) else json.dumps(one) for one in pair))
            for nth, pair in enumerate(texts)]  # fmt: skip
    return summarised(spark.createDataFrame(told, TEXTS)).orderBy("folder").collect()


def test_a_folder_with_the_least_there_may_be_is_a_row(spark: SparkSession):
    [row] = rows(spark, (LEAST, {"verdict": "PASS"}))

    assert row["trouble"] is None
    assert row["key"] == "2026-11-17/storm/r1"  # the night of UTC
    assert (row["kafka"], row["config"], row["promise"], row["seed"]) == ("unknown", "", "", None)
    assert (row["acknowledged"], row["counts"], row["findings"], row["recovery"]) == (0, {}, [], [])


def test_the_columns_are_those_of_the_table(spark: SparkSession):
    nothing = summarised(spark.createDataFrame([], TEXTS))

    wanted = spark.createDataFrame([], SUMMARY).schema
    found = nothing.drop("trouble").schema
    assert [(one.name, one.dataType.simpleString()) for one in found] == [
        (one.name, one.dataType.simpleString()) for one in wanted
    ]


def test_without_a_start_the_folder_says_which_night_it_was(spark: SparkSession):
    manifest = {name: value for name, value in LEAST.items() if name != "started"}
    [dated] = rows(spark, (manifest, {"verdict": "PASS"}))
    [undated] = rows(spark, (manifest, {"verdict": "PASS"}), folder="/somewhere")

    assert dated["key"] == "2026-11-16/storm/r1"
    assert undated["trouble"] == ("00/somewhere/manifest.json has no time in started, and the folder lies under no date.")


PASS = {"verdict": "PASS"}
TORN = "/manifest.json is not a JSON object, is it cut off?"
OLD = "is newer than 1, the newest this version reads: use the kafka-trial that wrote it."
REFUSED = [
    (None, PASS, " has no manifest.json: it is not a run folder, or a torn one."),
    ('{"run_id": "r', PASS, TORN),
    ("[]", PASS, TORN),
    ("", PASS, TORN),
    (LEAST | {"format": 7}, PASS, f"/manifest.json: format 7 {OLD}"),
    (LEAST | {"format": "x"}, PASS, f"/manifest.json: format x {OLD}"),
    (LEAST, None, " has no verdict.json yet: judge it with kafka-trial check."),
    (LEAST, "nonsense", "/verdict.json is not a JSON object, is it cut off?"),
    (LEAST | {"run_id": ""}, PASS, "/manifest.json: run_id is missing: it must be a name."),
    ({"run_id": "r1"}, PASS, "/manifest.json: scenario is missing: it must be a name."),
    (LEAST | {"seed": "abc"}, PASS, "/manifest.json: seed is abc, not an integer."),
    (LEAST | {"started": "soon"}, PASS, "/manifest.json: started is soon, not a time."),
    (LEAST | {"options": [1]}, PASS, "/manifest.json: options is [1], not an object."),
    (LEAST, {"verdict": "MAYBE"}, "/verdict.json: verdict is MAYBE, not one of PASS, FAIL, INCONCLUSIVE."),
    (LEAST, {}, "/verdict.json: verdict is missing: it must be one of PASS, FAIL, INCONCLUSIVE."),
    (LEAST, PASS | {"rows": "x" * 200}, f"/verdict.json: rows is {'x' * 80} …, not a number."),
    (LEAST, PASS | {"recovery": 3}, "/verdict.json: recovery is 3, not a list of rows as check writes them."),
    (LEAST, PASS | {"counts": {"a": "b"}}, '/verdict.json: counts is {"a":"b"}, not an object of numbers.'),
]


def test_what_cannot_be_used_is_told_with_file_field_and_value(spark: SparkSession):
    found = rows(spark, *((manifest, verdict) for manifest, verdict, _ in REFUSED))

    assert [row["trouble"] for row in found] == [
        f"{nth:02}/runs/2026-11-16/storm/r1{said}" for nth, (_, _, said) in enumerate(REFUSED)
    ]


def test_equal_words_are_equal_circumstances_whatever_the_order_and_the_seed(spark: SparkSession):
    one = LEAST | {"options": {"how": "kill", "acks": "all"}, "settings": "quick", "brokers": 3, "seed": 1, "kafka": "4.3.1"}
    passed = {"verdict": "PASS"}
    found = rows(
        spark,
        (one, passed),
        (one | {"options": {"acks": "all", "how": "kill"}, "seed": 2, "kafka": "4.4.0", "security": "plaintext"}, passed),
        (one | {"security": "sasl_ssl", "controllers": 3, "provider": "containers"}, passed),
        (one | {"permitted": ["lost-write", "duplicate"], "brokers": 1}, passed),
        (one | {"settings": "mine", "client_config": {"linger.ms": 5}}, passed),
        (one | {"client_config": {"socket.timeout.ms": 5000}}, passed),
    )  # fmt: skip

    assert [row["trouble"] for row in found] == [None] * 6
    words = [row["config"] for row in found]
    assert words == [
        "acks=all how=kill · quick · 3 brokers",
        "acks=all how=kill · quick · 3 brokers",
        "acks=all how=kill · quick · 3 brokers · 3 controllers · containers · sasl_ssl",
        "acks=all how=kill · quick · 1 broker · permitted: duplicate, lost-write",
        "acks=all how=kill · mine · 3 brokers · linger.ms=5",
        "acks=all how=kill · quick · 3 brokers",
    ]


def test_ten_findings_are_kept_and_the_first_of_each_anomaly(spark: SparkSession):
    findings = [{"name": "duplicate", "sentence": f"d{nth}", "offset": nth} for nth in range(30)]
    findings += [{"name": "lost-write", "sentence": f"l{nth}"} for nth in range(30)]
    verdict = {"verdict": "FAIL", "findings": findings, "counts": {"duplicate": 30, "lost-write": 30, "poll-skip": 0}}

    [row] = rows(spark, (LEAST, verdict))

    assert [one["sentence"] for one in row["findings"]] == [f"d{nth}" for nth in range(10)] + ["l0"]
    assert row["counts"] == {"duplicate": 30, "lost-write": 30}


def test_a_name_with_a_slash_stays_one_part_of_the_key(spark: SparkSession):
    [row] = rows(spark, (LEAST | {"run_id": "build/12"}, {"verdict": "PASS"}))

    assert (row["key"], row["run_id"]) == ("2026-11-17/storm/build_12", "build/12")


def test_what_was_known_to_be_wrong_stays_so(spark: SparkSession):
    frame = spark.createDataFrame([("t-0 offset 3", None, None, "is no result")], f"{TEXTS}, trouble string")

    assert summarised(frame).collect()[0]["trouble"] == "is no result"


def test_folders_are_read_whatever_their_names(spark: SparkSession, tmp_path: Path):
    make_runs(tmp_path / "a b+c%20[x]*{y}", runs=2, nights=1, ledger=False)
    found = run_folders(tmp_path / "a b+c%20[x]*{y}")

    texts = summarised(documents(spark, found)).collect()

    assert sorted(row["folder"] for row in texts) == [one.folder for one in found]
    assert {row["trouble"] for row in texts} == {None}
    assert sorted(row["folder"] for row in moments(events(spark, found)).collect()) == [one.folder for one in found]


def happenings(spark: SparkSession, folder: Path, *lines: dict[str, Any] | str) -> list[Any]:
    path = folder / "2026-11-16" / "storm" / "r1"
    path.mkdir(parents=True)
    (path / "events.jsonl").write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines))
    read = events(spark, run_folders(folder)).persist()
    runs = spark.createDataFrame([(str(path), "k")], "folder string, key string").selectExpr("*", "date'2026-11-16' as date")
    found = happened(read, moments(read), runs)
    wanted = spark.createDataFrame([], HAPPENED).schema
    assert [(one.name, one.dataType) for one in found.schema] == [(one.name, one.dataType) for one in wanted]
    return found.orderBy("at_s", "event").collect()


def test_events_become_what_happened(spark: SparkSession, tmp_path: Path):
    s = 10**9
    led = {"event": "partition", "topic": "orders", "partition": 0}
    found = happenings(
        spark, tmp_path,
        {"t_ns": 5 * s, "event": "phase", "phase": "setup"},
        {"t_ns": 6 * s, **led, "leader": 1, "leader_epoch": 0},
        {"t_ns": 7 * s, "event": "fault", "id": 1, "fault": "kill-broker", "sentence": "broker 1 is killed"},
        {"t_ns": 8 * s, **led, "leader": -1, "leader_epoch": 0},
        {"t_ns": 9 * s, **led, "leader": 2, "leader_epoch": 1},
        {"t_ns": 10 * s, "event": "heal", "id": 1},
        {"t_ns": 11 * s, **led, "leader": 2, "leader_epoch": 2},
        {"t_ns": 12 * s, "event": "fault", "id": "f2", "sentence": "never healed"},
        {"t_ns": 13 * s, "event": "something new", "group": {"of": "things"}},
        '{"t_ns": 14, "event": "fa',
    )  # fmt: skip

    assert [(row["event"], row["at_s"], row["id"], row["end_s"]) for row in found] == [
        ("phase", 0.0, None, None),
        ("fault", 2.0, "1", 5.0),
        ("election", 4.0, None, None),
        ("fault", 7.0, "f2", None),
    ]
    assert found[2]["sentence"] == "broker 2 leads orders-0, before broker 1"


def test_torn_lines_are_counted_and_do_not_stop_the_rest(spark: SparkSession, tmp_path: Path):
    found = happenings(spark, tmp_path, "nonsense", {"t_ns": 5, "event": "phase", "phase": "x"}, "{", '{"event": "no time"}')
    torn = moments(events(spark, run_folders(tmp_path))).collect()[0]["torn"]

    assert [row["name"] for row in found] == ["x"]
    assert torn == 3


def test_only_what_is_new_or_says_otherwise_is_news(spark: SparkSession):
    known = summarised(spark.createDataFrame([("/here", json.dumps(LEAST), '{"verdict": "PASS"}', 12.5)],
                                             f"{TEXTS}, duration_s double")).drop("trouble")  # fmt: skip
    other = json.dumps(LEAST | {"run_id": "r2"})
    told = spark.createDataFrame(
        [("/there", json.dumps(LEAST), '{"verdict": "PASS"}'), ("/there", other, '{"verdict": "PASS"}')], TEXTS
    )
    again = spark.createDataFrame([("/there", json.dumps(LEAST), '{"verdict": "FAIL"}')], TEXTS)

    assert [row["run_id"] for row in news(summarised(told).drop("trouble"), known).collect()] == ["r2"]
    [changed] = news(summarised(again).drop("trouble"), known).collect()
    assert (changed["verdict"], changed["folder"], changed["duration_s"]) == ("FAIL", "/here", 12.5)


def test_the_generator_writes_the_same_folders_for_the_same_seed(tmp_path: Path):
    one, other = (make_runs(tmp_path / name, Night(runs=3, nights=1, ledger=False)) for name in ("one", "other"))

    for left, right in zip(one, other, strict=True):
        assert (left / "events.jsonl").read_bytes() == (right / "events.jsonl").read_bytes()
        assert (left / "verdict.json").read_bytes() == (right / "verdict.json").read_bytes()
