"""Runs as Prometheus is told of them: the newest decides, what is pruned is gone, and nothing that lies there stops it."""

import json
import logging
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from typer.testing import CliRunner

from chaos.evidence.folder import RunFolder
from kafka_trial.cli.runs import runs as app
from kafka_trial.daemon import runs_watching
from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.runs_config import RunsConfig
from kafka_trial.daemon.runs_metrics import figures, page
from kafka_trial.daemon.runs_told import Figure, Foreign, Told, told
from kafka_trial.daemon.runs_watching import RunsWatch
from kernel.errors import UsageError
from kernel.metric_tables.trials import ROWS
from kernel.verdict import ANOMALIES, Verdict
from kernel.waiting import wait_until
from tests.promtool import linted, needed
from tests.pure.run_folders import write_run
from tests.pure.snippets import DOCS

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

PAGE = (DOCS / "runs.md").read_text()
TWINS = {"kill": {"acks": "1", "how": "isolate"}, "calm": {}}
MANIFEST = {"scenario": "kill", "kafka": "4.3.1", "started": "2026-11-01T10:00:00+00:00"}
BEGAN = 1793527200.0
Series = dict[tuple[str, ...], float]


def run(verdict: str = "PASS", **more: Any) -> Told:
    """`more`: of the manifest, or of the verdict if that is where it belongs."""
    judged = {key: more.pop(key) for key in ("recovery", "counts", "acknowledged", "read") if key in more}
    return told(MANIFEST | more, {"verdict": verdict} | judged, TWINS, written=5.0)


def put(runs: Path, run_id: str, verdict: str | None = "PASS", *, hour: int = 10, **more: Any) -> Path:
    folder = RunFolder.create(runs, day="2026-11-01", scenario="kill", run_id=run_id)
    folder.write_manifest(MANIFEST | {"run_id": run_id, "started": f"2026-11-01T{hour}:00:00+00:00"} | more)
    if verdict:
        folder.write_verdict({"verdict": verdict, "acknowledged": 100, "counts": {}, "recovery": []})
    return folder.path


def series(found: list[Figure]) -> Series:
    return {(name, *(value for _, value in labels)): value for name, labels, value in found}


def watching(runs: Path, *, every: float = 0.05, most: int = 1000) -> RunsWatch:
    return RunsWatch(runs, TWINS, every=every, most=most)


def looked(watch: RunsWatch) -> Series:
    watch.look()
    return series(watch.figures)


def verdicts(found: Series) -> dict[str, float]:
    return {key[-1]: value for key, value in found.items() if key[0] == "runs" and value}


# ---- what one run tells -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, dict[str, Any]]:
    """A run of three partitions, one of them dark for three seconds, judged by the real judge."""
    folder = write_run(tmp_path_factory.mktemp("runs"))
    return told(folder.manifest(), folder.verdict(), {}, 0.0), folder.verdict()


def test_a_run_that_lost_records(real: tuple[Told, dict[str, Any]]):
    found, verdict = real
    rows, figures_of = verdict["recovery"], series(list(found.figures))

    assert found.of == (("scenario", "kill-leader"), ("kafka", "4.3.1"), ("twin", "no"))
    assert found.verdict is Verdict.FAIL
    assert figures_of["last_acknowledged_records",] == verdict["acknowledged"] > 7000
    assert figures_of["last_read_records",] == verdict["read"]
    assert {key[1]: value for key, value in figures_of.items() if key[0] == "last_findings"} == verdict["counts"]
    assert verdict["counts"]["lost-write"] == 4
    for stage in ("detect", "elect", "first_success", "full_isr", "drained"):
        worst = max(row[f"{stage}_s"] for row in rows if row[f"{stage}_s"] is not None)
        assert figures_of["last_recovery_seconds", stage] == worst, stage
    for kind, gap in (("send", "write_gap"), ("poll", "read_gap")):
        worst = max((row for row in rows if row["kind"] == kind), key=lambda row: row["gap_s"])
        assert figures_of["last_recovery_seconds", gap] == worst["gap_s"]
        assert figures_of["last_recovery_bound_seconds", gap] == worst["bound_s"]
    assert 3 < figures_of["last_recovery_seconds", "write_gap"] < 4
    assert (figures_of["last_late_recoveries",], figures_of["last_open_gaps",]) == (0, 0)


def test_a_gap_that_never_closed_is_open_and_late_and_the_worst_of_all():
    closed = {"kind": "send", "gap_s": 9.0, "bound_s": 12.0, "within": True, "censored": False}
    open_one = {"kind": "send", "gap_s": 5.0, "bound_s": 6.0, "within": False, "censored": True}
    found = series(list(run("FAIL", recovery=[closed, open_one]).figures))

    assert found["last_recovery_seconds", "write_gap"] == 5.0
    assert found["last_recovery_bound_seconds", "write_gap"] == 6.0
    assert (found["last_late_recoveries",], found["last_open_gaps",]) == (1, 1)


def test_what_was_not_seen_is_not_told():
    found = series(list(run(recovery=[{"kind": "poll", "gap_s": 0.5, "elect_s": None, "bound_s": None}]).figures))

    assert {key[1] for key in found if key[0] == "last_recovery_seconds"} == {"read_gap"}
    assert not any(key[0] in ("last_recovery_bound_seconds", "last_duration_seconds") for key in found)
    assert {key[1]: value for key, value in found.items() if key[0] == "last_findings"} == dict.fromkeys(ANOMALIES, 0.0)


@pytest.mark.parametrize(
    ("more", "began", "duration"),
    [
        ({}, BEGAN, None),
        ({"finished": "2026-11-01T10:01:30+00:00"}, BEGAN, 90.0),
        ({"finished": "2026-11-01T09:00:00+00:00"}, BEGAN, None),  # a clock that went back
        ({"started": "2026-11-01T12:00:00+02:00"}, BEGAN, None),
        ({"started": None, "finished": "2026-11-01T10:00:00+00:00"}, BEGAN, None),
        ({"started": "yesterday"}, 5.0, None),
        ({"started": 17}, 5.0, None),
    ],
)
def test_when_it_was(more: dict[str, Any], began: float, duration: float | None):
    found = run(**more)

    assert (found.began, series(list(found.figures)).get(("last_duration_seconds",))) == (began, duration)


def test_a_time_without_a_zone_is_utc_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert run(started="2026-11-01T10:00:00").began == BEGAN
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("scenario", "options", "twin"),
    [
        ("kill", {"acks": "1", "how": "isolate", "rate": "300"}, "yes"),
        ("kill", {"acks": 1, "how": "isolate"}, "yes"),
        ("kill", {"acks": "all", "how": "isolate"}, "no"),
        ("kill", {"acks": "1"}, "no"),
        ("kill", None, "no"),
        ("calm", {"acks": "1"}, "no"),  # has none
        ("another", {"acks": "1", "how": "isolate"}, "no"),
    ],
)
def test_a_twin_is_known_by_its_options(scenario: str, options: dict[str, Any] | None, twin: str):
    assert dict(run(scenario=scenario, options=options).of)["twin"] == twin


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"scenario": None}, "scenario is None, not a name"),
        ({"scenario": "  "}, "scenario is '  ', not a name"),
        ({"scenario": ["kill"]}, r"scenario is \['kill'\], not a name"),
        ({"verdict": "pass"}, "verdict is 'pass', not one of PASS, INCONCLUSIVE, FAIL"),
        ({"verdict": None}, "verdict is None"),
        ({"verdict": {"a": 1}}, "verdict is {'a': 1}"),
    ],
)
def test_what_is_no_run_of_ours(more: dict[str, Any], says: str):
    with pytest.raises(Foreign, match=says):
        run(**{"verdict": "PASS"} | more)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, "5", True, None, [5], 10**400])
def test_what_is_no_number_is_passed_over(value: object):
    row = {"kind": "send", "gap_s": value, "elect_s": value, "bound_s": value}
    found = run(acknowledged=value, read=7, counts={"duplicate": value, "new": value}, recovery=[row, None, 3])

    assert {key: number for key, number in series(list(found.figures)).items() if number} == {("last_read_records",): 7.0}


@pytest.mark.parametrize("recovery", [None, 5, {}, "rows", [[]]])
@pytest.mark.parametrize("counts", [None, 5, [], "none"])
def test_shapes_that_nobody_expected_tell_nothing(recovery: object, counts: object):
    assert not any(value for _, _, value in run(recovery=recovery, counts=counts).figures)


def test_an_anomaly_of_a_newer_version_is_another():
    assert ("last_findings", (("anomaly", "other"),), 5.0) in run(counts={"new": 2, "newer": 3, "duplicate": 1}).figures


def test_names_are_kept_short_and_on_one_line():
    found = dict(run(scenario="a\nb\ud800" + "x" * 500, kafka=4.3).of)

    assert found["scenario"] == "a b\ufffd" + "x" * 96
    assert found["kafka"] == "unknown"


# ---- what all of them tell ----------------------------------------------------------------------------------------


def test_the_newest_run_of_each_kind_decides_and_all_are_counted():
    old = run("FAIL", counts={"duplicate": 3}, started="2026-11-01T08:00:00Z")
    new = run("PASS", counts={"duplicate": 0}, started="2026-11-01T09:00:00Z")
    other = run("INCONCLUSIVE", kafka="3.9.1", started="2026-11-01T07:00:00Z")
    found = series(figures([new, old, other], 10))

    assert [found["runs", "kill", "4.3.1", "no", verdict] for verdict in Verdict] == [1, 0, 1]
    assert [found["last_verdict", "kill", "4.3.1", "no", verdict] for verdict in Verdict] == [1, 0, 0]
    assert [found["last_verdict", "kill", "3.9.1", "no", verdict] for verdict in Verdict] == [0, 1, 0]
    assert found["last_findings", "kill", "4.3.1", "no", "duplicate"] == 0
    assert found["last_run_timestamp_seconds", "kill", "4.3.1", "no"] == BEGAN - 3600
    assert found["dropped_runs",] == 0


def test_beyond_so_many_kinds_the_oldest_are_dropped_and_counted():
    runs = [run(scenario=f"s{number}", started=f"2026-11-01T{number:02}:00:00Z") for number in range(5) for _ in "ab"]
    found = series(figures(runs, 3))

    assert {key[1] for key in found if key[0] == "runs"} == {"s2", "s3", "s4"}
    assert found["dropped_runs",] == 4


def test_every_row_of_the_catalogue_is_told_with_its_own_labels_and_prometheus_finds_no_fault(tmp_path: Path):
    rows = [{"kind": "send", "gap_s": 1, "bound_s": 2, "elect_s": 1}]
    put(tmp_path, "a", None, finished="2026-11-01T11:00:00Z")
    RunFolder(tmp_path / "2026-11-01" / "kill" / "a").write_verdict(
        {"verdict": "PASS", "acknowledged": 1, "read": 1, "recovery": rows}
    )
    watch = watching(tmp_path)
    watch.look()

    _, text = page(watch.rendered, "")
    samples = [sample for family in prometheus(text.decode()) for sample in family.samples]
    assert {sample.name: set(sample.labels) for sample in samples} == {row.name: set(row.labels) for row in ROWS}
    assert linted(text) == ""
    kind, text = page(watch.rendered, "application/openmetrics-text; version=1.0.0")
    assert "openmetrics" in kind
    assert {family.name for family in openmetrics(text.decode())} == {row.name for row in ROWS}


def test_a_name_with_quotes_does_not_break_the_page(tmp_path: Path):
    watch = watching(tmp_path)
    put(tmp_path, "a", scenario='"}\\ 1\nnasty\ud800{')
    watch.look()

    text = page(watch.rendered, "")[1]
    assert linted(text) == ""
    assert {s.labels["scenario"] for f in prometheus(text.decode()) for s in f.samples if s.labels} == {
        '"}\\ 1 nasty\ufffd{'
    }


# ---- a folder that changes ----------------------------------------------------------------------------------------


def test_runs_that_appear_are_counted_and_runs_that_are_pruned_are_not(tmp_path: Path):
    watch = watching(tmp_path)

    assert verdicts(looked(watch)) == {}
    put(tmp_path, "a", "PASS")
    gone = put(tmp_path, "b", "FAIL", hour=11)
    put(tmp_path, "c", None, hour=12)
    both = looked(watch)
    assert (verdicts(both), both["unjudged_runs",]) == ({"PASS": 1, "FAIL": 1}, 1)
    assert both["last_verdict", "kill", "4.3.1", "no", "FAIL"] == 1
    shutil.rmtree(gone)
    left = looked(watch)
    assert verdicts(left) == {"PASS": 1}
    assert left["last_verdict", "kill", "4.3.1", "no", "FAIL"] == 0


def test_a_run_is_read_once_and_again_when_it_was_judged_again(tmp_path: Path):
    path = put(tmp_path, "a", "PASS")
    watch, file = watching(tmp_path), path / "verdict.json"
    looked(watch)
    before, text = file.stat(), file.read_text()

    file.write_text(text.replace("PASS", "FAIL"))  # the same file, of the same length ...
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # ... and as old: nobody can see that it changed
    assert verdicts(looked(watch)) == {"PASS": 1}
    RunFolder(path).write_verdict(json.loads(text.replace("PASS", "FAIL")))
    assert file.stat().st_size == before.st_size
    assert verdicts(looked(watch)) == {"FAIL": 1}


def test_a_manifest_that_is_written_to_its_end_after_the_verdict_is_read_too(tmp_path: Path):
    path = put(tmp_path, "a")
    watch = watching(tmp_path)
    assert ("last_duration_seconds", "kill", "4.3.1", "no") not in looked(watch)
    RunFolder(path).write_manifest(MANIFEST | {"finished": "2026-11-01T10:00:09Z"})

    assert looked(watch)["last_duration_seconds", "kill", "4.3.1", "no"] == 9


def test_half_a_verdict_is_counted_told_once_and_read_when_it_is_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    put(tmp_path, "good")
    path = put(tmp_path, "half", "FAIL", hour=11)
    whole = (path / "verdict.json").read_text()
    (path / "verdict.json").write_text(whole[:30])
    watch = watching(tmp_path)
    for _ in range(3):
        found = looked(watch)
        assert (found["unreadable_runs",], verdicts(found)) == (1, {"PASS": 1})
    assert caplog.text.count("a run cannot be read") == 1
    assert f"{path}: verdict.json is not JSON, or only the beginning of it" in caplog.text
    (path / "verdict.json").write_text(whole)

    found = looked(watch)
    assert (found["unreadable_runs",], verdicts(found)) == (0, {"PASS": 1, "FAIL": 1})


def nothing(file: Path) -> None:
    file.write_bytes(b"")


def binary(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00\x80")


def a_list(file: Path) -> None:
    file.write_text("[1, 2]")


def deep(file: Path) -> None:
    file.write_text("[" * 100_000)


def huge(file: Path) -> None:
    file.write_text(file.read_text() + " " * 65 * 2**20)


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_ring(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def other_json(file: Path) -> None:
    file.write_text('{"name": "somebody else\'s", "scenario": {"verdict": "PASS"}}')


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["verdict.json", "manifest.json"])
@pytest.mark.parametrize("spoil", [nothing, binary, a_list, deep, huge, a_pipe, a_folder, a_ring, other_json])
def test_whatever_lies_there_hides_no_other_run(tmp_path: Path, name: str, spoil: Any, caplog: pytest.LogCaptureFixture):
    put(tmp_path, "good")
    spoil(put(tmp_path, "bad") / name)
    watch = watching(tmp_path)
    for _ in range(2):
        found = looked(watch)

        assert (found["unreadable_runs",], verdicts(found), found["up",]) == (1, {"PASS": 1}, 1)
    assert caplog.text.count("a run cannot be read") == 1


def test_a_verdict_without_a_manifest_cannot_be_read(tmp_path: Path):
    (put(tmp_path, "a") / "manifest.json").unlink()

    assert looked(watching(tmp_path))["unreadable_runs",] == 1


def test_what_is_no_run_is_not_counted_at_all(tmp_path: Path):
    (tmp_path / "2026-11-01" / "notes" / "mine").mkdir(parents=True)
    (tmp_path / "verdict.json").write_text("{}")
    found = looked(watching(tmp_path))

    assert (found["unreadable_runs",], found["unjudged_runs",]) == (0, 0)


def test_a_thousand_bad_runs_are_not_a_thousand_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    for number in range(30):
        a_list(put(tmp_path, f"bad-{number}") / "verdict.json")
    looked(watching(tmp_path))

    assert len(caplog.records) == 21
    assert "… and 10 runs more cannot be read" in caplog.text


# ---- the daemon's thread ------------------------------------------------------------------------------------------


def up(watch: RunsWatch) -> float:
    return series(watch.figures)["up",]


def test_a_folder_that_is_not_there_is_waited_for_and_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    runs = tmp_path / "runs"
    with watching(runs) as watch:
        wait_until(lambda: caplog.text, bool, what="a word", timeout=10, every=0.02)
        time.sleep(0.3)
        assert (up(watch), watch.ready) == (0, False)
        assert caplog.text.count(f"{runs} is no folder of runs: No such file or directory. It is looked for again.") == 1
        put(runs, "a")
        wait_until(lambda: verdicts(series(watch.figures)), bool, what="the run to be seen", timeout=10, every=0.02)
        assert (up(watch), watch.ready) == (1, True)
        read_at = series(watch.figures)["read_timestamp_seconds",]
        shutil.rmtree(runs)
        wait_until(lambda: up(watch), lambda now: not now, what="the folder to be missed", timeout=10, every=0.02)
        gone = series(watch.figures)

    assert set(gone) == {("up",), ("read_timestamp_seconds",)}, "what is there no more is not told"
    assert read_at <= gone["read_timestamp_seconds",] <= time.time()
    assert caplog.text.count("is no folder of runs") == 2


def test_a_mistake_of_ours_is_seen_and_is_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    put(tmp_path, "a")
    broken = [True]

    def sometimes(runs: Any, most: int) -> list[Figure]:
        if broken:
            raise RuntimeError("a bug")
        return figures(runs, most)

    monkeypatch.setattr(runs_watching, "figures", sometimes)
    with watching(tmp_path) as watch:
        wait_until(lambda: caplog.text.count("a bug"), lambda count: count > 1, what="a second look", timeout=10, every=0.02)
        assert up(watch) == 0
        broken.clear()
        wait_until(lambda: up(watch), bool, what="it to go on", timeout=10, every=0.02)

    assert "the folder of runs could not be looked through" in caplog.text


def test_it_ends_in_the_middle_of_a_look(tmp_path: Path):
    """And what was looked through in part is not told."""
    for number in range(5):
        put(tmp_path, f"r{number}")
    watch = watching(tmp_path)
    watch._ending.set()
    watch.look()

    assert (watch.ready, watch.figures) == (False, [("up", (), 0.0)])
    assert watch._shelf.read == {}


# ---- the command --------------------------------------------------------------------------------------------------


def call(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["exporter", *map(str, words)])


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def test_once_prints_a_page_for_a_textfile_collector(tmp_path: Path):
    put(tmp_path, "a", "FAIL")
    done = call("--runs", tmp_path, "--once")

    assert done.exit_code == 0, done.output
    assert 'kafka_trial_last_verdict{kafka="4.3.1",scenario="kill",twin="no",verdict="FAIL"} 1.0\n' in done.stdout
    assert linted(done.stdout) == ""


def test_check_looks_at_the_file_and_the_folder(tmp_path: Path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs.toml").write_text('runs_dir = "runs"\nlisten = "127.0.0.1:1"\n')
    done = call("--config", tmp_path / "runs.toml", "--check")

    assert (done.exit_code, done.stdout) == (0, "")
    assert f"all is right: runs in {tmp_path / 'runs'}, to be served on 127.0.0.1:1." in done.stderr
    assert "127.0.0.1:2." in call("--config", tmp_path / "runs.toml", "--check", "--listen", "127.0.0.1:2").stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--runs", "nowhere", "--once"], "nowhere is no folder of runs: No such file or directory."),
        (["--runs", "nowhere", "--check"], "nowhere is no folder of runs: No such file or directory."),
        (["--runs", __file__, "--once"], "test_runs_metrics.py is no folder of runs: Not a directory."),
        (["--listen", "here", "--once"], "--listen 'here' is not HOST:PORT."),
        (["--config", "none.toml"], "there is no configuration file none.toml."),
    ],
)
def test_wrong_words_are_told_in_one_sentence(words: list[str], says: str):
    done = call(*words)

    assert isinstance(done.exception, UsageError)
    assert says in done.exception.message
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour = 1\n", "the key colour is not known: choose one of listen, "),
        ("look_every = 0\n", "look_every = 0: "),
        ("most = 0\n", "most = 0: "),
        ('listen = "here"\n', "listen = 'here': not host:port"),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(tmp_path: Path, text: str, says: str):
    (tmp_path / "runs.toml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(says)):
        load(tmp_path / "runs.toml", RunsConfig)


# ---- the page -----------------------------------------------------------------------------------------------------

TABLES = [line for line in PAGE.splitlines() if line.startswith("| `")]


def test_every_key_and_every_figure_is_explained():
    explained = {name for line in TABLES for name in re.findall(r"`([a-z_.]+)`", line.split("|")[1])}

    assert {name for name in RunsConfig.model_fields if name not in ("tls", "login")} <= explained
    assert {row.name.removeprefix("kafka_trial_") for row in ROWS} <= explained
    assert set(re.findall(r"\bkafka_trial_[a-z_]+[a-z]\b", PAGE)) <= {row.name for row in ROWS}


def test_the_pages_file_is_right(tmp_path: Path):
    [block] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "runs.toml").write_text(block)

    assert load(tmp_path / "runs.toml", RunsConfig).runs_dir == tmp_path / "runs"


def test_the_pages_alerts_fire_when_they_should_and_stay_quiet_when_not(tmp_path: Path):
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "rules.yaml").write_text(block)
    names = re.findall(r"alert: (\w+)", block)

    def case(verdict: str, twin: str, age: str, firing: str, up: str = "1x300") -> dict[str, Any]:
        labels = {"scenario": "kill", "kafka": "4.3.1", "twin": twin}
        of = ",".join(f'{name}="{value}"' for name, value in labels.items())
        given = {f"kafka_trial_last_run_timestamp_seconds{{{of}}}": age, "kafka_trial_up": up}
        given |= {f'kafka_trial_last_verdict{{{of},verdict="{one}"}}': f"{int(one == verdict)}x300" for one in Verdict}
        fires = {"exp_labels": labels | {"verdict": verdict}} if verdict != "-" else {"exp_labels": {}}
        return {
            "interval": "10m",
            "input_series": [{"series": name, "values": values} for name, values in given.items()],
            "alert_rule_test": [
                {"eval_time": "40h", "alertname": name, "exp_alerts": [fires] if name == firing else []} for name in names
            ],
        }

    fresh, stale = "140000x300", "0x300"
    tests = [
        case("PASS", "no", fresh, ""),
        case("FAIL", "yes", fresh, ""),
        case("FAIL", "no", fresh, "KafkaTrialFailed"),
        case("PASS", "yes", fresh, "KafkaTrialTwinPassed"),
        case("INCONCLUSIVE", "no", fresh, "KafkaTrialsInconclusive"),
        case("-", "no", stale, "KafkaTrialsStopped"),
        case("-", "no", fresh, "KafkaTrialsBlind", up="1x3 0x300"),
        case("-", "no", fresh, "KafkaTrialsBlind", up="1x3 stale"),
        case("-", "no", "140000x3 stale", "KafkaTrialsStopped"),
    ]
    (tmp_path / "tests.json").write_text(
        json.dumps({"rule_files": ["rules.yaml"], "evaluation_interval": "10m", "tests": tests})
    )
    checked = subprocess.run(
        [needed("promtool"), "test", "rules", "tests.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
