"""The Spark engine finds what the local one finds: case by case, mutation by mutation, and in the same sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaos.checkers.local import examine as examine_locally
from chaos.checkers.rings import rings
from chaos.evidence.folder import RunFolder
from chaos.judge import ENGINES, judge
from chaos.mutators import MUTATORS
from chaos.mutators.recording import Recording
from chaos.mutators.score import read_rows
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES, Examined
from tests.pure.histories import drained, read, sent, write_run
from tests.pure.simulation import MANIFEST, simulate
from tests.spark.engine_histories import (
    Told,
    cases_of_the_checkers,
    counts_of_each,
    facts,
    findings_of_each,
    random_histories,
    sentences,
    side_by_side,
    soiled_histories,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parent.parent / "data" / "clean_run"
MOST = 100


def examined(spark: "SparkSession", ledger: Path, clients: dict[str, Any]) -> Examined:
    from spark_reports.examine import examine

    return examine(spark, ledger, clients, rings)


def agrees(spark: "SparkSession", place: Path, histories: list[Told]) -> tuple[Examined, Examined]:
    """Both engines' answers to all histories side by side, which are the same."""
    told = side_by_side(histories)
    ledger = written(place, told)
    ours, theirs = examined(spark, ledger, told.clients), examine_locally(ledger, told.clients)
    assert facts(ours) == facts(theirs)
    assert sentences(ours, MOST) == sentences(theirs, MOST)
    for name, count in ours.counts.items():
        assert sum(finding.name == name for finding in ours.findings) == min(count, MOST)
    return ours, theirs


def test_every_case_of_the_checkers_is_judged_as_by_the_local_engine(spark: "SparkSession", tmp_path: Path):
    cases = cases_of_the_checkers()

    ours, _ = agrees(spark, tmp_path / "all", cases)

    assert len(cases) > 80
    assert all(0 < count <= MOST for count in ours.counts.values())
    assert findings_of_each(ours, len(cases)) == counts_of_each(tmp_path / "each", cases)


def test_each_mutation_of_a_recorded_run_shows_exactly_its_own_anomaly(spark: "SparkSession", tmp_path: Path):
    folder = RunFolder(RECORDED)
    recording = Recording(folder.manifest(), read_rows(folder.ledger))
    mutated = [mutate(recording) for mutate in MUTATORS.values()]
    clients = folder.manifest()["clients"]

    ours, _ = agrees(spark, tmp_path / "all", [Told(recording.rows, clients), *(Told(one.rows, clients) for one in mutated)])

    clean, *found = findings_of_each(ours, 1 + len(mutated))
    assert clean == {}
    assert found == [{name: one.count} for name, one in zip(MUTATORS, mutated, strict=True)]


def test_clients_that_behave_are_found_nothing_against(spark: "SparkSession", tmp_path: Path):
    ours, _ = agrees(spark, tmp_path / "run", [Told(simulate(seed, 80), dict(MANIFEST["clients"])) for seed in range(20)])

    assert set(ours.counts.values()) == {0}
    assert (ours.acknowledged > 1000, ours.read > 1000) == (True, True)


def test_histories_at_random_and_soiled_ones_are_judged_alike(spark: "SparkSession", tmp_path: Path):
    ours, _ = agrees(spark, tmp_path / "run", random_histories(60, seed=1) + soiled_histories(20, seed=1))

    assert all(ours.counts.values())


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with a ledger of billions of rows, done with a small one."""
    from spark_reports.anomalies import cycles, fates, places, readers, senders, stretches, values

    monkeypatch.setattr(stretches, "BLOCK", 2)
    monkeypatch.setattr(readers, "BLOCK", 2)
    monkeypatch.setattr(readers, "LARGE", 1)
    monkeypatch.setattr(senders, "CHUNK", 2)
    monkeypatch.setattr(senders, "FEW", 0)
    monkeypatch.setattr(cycles, "FEW", 0)
    monkeypatch.setattr(fates, "FEW", 0)
    monkeypatch.setattr(values, "MANY_PAGES", 0)
    monkeypatch.setattr(places, "MANY_PAGES", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("cut_small")
def test_a_ledger_that_is_cut_into_chunks_is_judged_alike(spark: "SparkSession", tmp_path: Path):
    histories = cases_of_the_checkers() + random_histories(60, seed=2000) + soiled_histories(20, seed=2000)

    ours, _ = agrees(spark, tmp_path / "run", histories)

    assert all(ours.counts.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10_000, 20_000])
def test_a_thousand_histories_are_judged_alike(spark: "SparkSession", tmp_path: Path, seed: int):
    histories = random_histories(250, seed) + soiled_histories(250, seed)

    ours, _ = agrees(spark, tmp_path / "all", histories)

    each = counts_of_each(tmp_path / "each", histories)
    assert ours.counts == {name: sum(counts.get(name, 0) for counts in each) for name in ANOMALIES}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_history_by_itself_is_judged_alike(spark: "SparkSession", tmp_path: Path, seed: int):
    history = (random_histories if seed % 2 else soiled_histories)(seed + 1, seed * 77)[-1]
    ledger = written(tmp_path / "run", history, files=1 + seed % 3)

    ours, theirs = examined(spark, ledger, history.clients), examine_locally(ledger, history.clients)

    assert (facts(ours), sentences(ours, MOST)) == (facts(theirs), sentences(theirs, MOST))


# ---- as an engine of the judge -----------------------------------------------------------------------------------------


def test_the_judge_takes_it_as_an_engine(spark: "SparkSession"):
    from spark_reports.examine import engine

    said: list[str] = []
    sessions: list[str] = []

    @contextmanager
    def session() -> "Iterator[SparkSession]":
        sessions.append("opened")
        yield spark
        sessions.append("closed")

    ours = judge(RECORDED, "spark", engines=ENGINES | {"spark": engine(session, rings, said.append)})
    theirs = judge(RECORDED)

    differing = ("engine", "seconds")
    assert {k: v for k, v in ours.items() if k not in differing} == {k: v for k, v in theirs.items() if k not in differing}
    assert (ours["engine"], sessions) == ("spark", ["opened", "closed"])
    assert said[0] == "counting rows"
    assert len(said) == len(set(said)) > 5


def test_an_empty_ledger_is_judged_and_proves_nothing(spark: "SparkSession", tmp_path: Path):
    ledger = write_run(tmp_path / "run", []) / "ledger"

    assert examined(spark, ledger, {}) == examine_locally(ledger, {})


def test_a_ledger_without_records_is_judged_too(spark: "SparkSession", tmp_path: Path):
    ledger = write_run(tmp_path / "run", [drained(5)]) / "ledger"

    assert examined(spark, ledger, {}) == examine_locally(ledger, {})


@pytest.mark.parametrize(
    "rows",
    [
        [sent(1, 0), sent(2, 1), read(1, 0) | {"topic": None}],
        [sent(1, 0), sent(2, 1) | {"op": 1}],
    ],
    ids=["a read without a topic", "two rows of one name"],
)
def test_a_ledger_that_breaks_the_rules_is_refused_in_the_same_sentence(
    spark: "SparkSession", tmp_path: Path, rows: list[dict[str, Any]]
):
    ledger = write_run(tmp_path / "run", rows) / "ledger"

    with pytest.raises(UsageError) as theirs:
        examine_locally(ledger, {})
    with pytest.raises(UsageError) as ours:
        examined(spark, ledger, {})

    assert str(ours.value) == str(theirs.value)


def test_a_setting_that_it_needs_is_put_back(spark: "SparkSession", tmp_path: Path):
    from spark_reports.examine import LISTS

    before = spark.conf.get(LISTS)
    examined(spark, write_run(tmp_path / "run", [drained(5)]) / "ledger", {})

    assert spark.conf.get(LISTS) == before
