"""Every checker can fail: a clean history is edited in one place, and exactly that one anomaly is found."""

from pathlib import Path

import pytest

from chaos.judge import judge
from chaos.mutators import MUTATORS
from chaos.mutators.__main__ import main
from chaos.mutators.recording import NoSite, Recording
from chaos.mutators.score import mutants, told
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES
from tests.pure.histories import drained, read, sent, write_run
from tests.pure.simulation import MANIFEST, simulate

RECORDED = Path(__file__).parent.parent / "data" / "clean_run"  # real traffic, see its manifest


@pytest.fixture(params=["simulated", "simulated again", "recorded"])
def clean_run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "recorded":
        return RECORDED
    return write_run(tmp_path / "run", simulate(len(request.param), 150), manifest=MANIFEST)


def test_there_is_a_mutator_for_every_anomaly():
    assert list(MUTATORS) == list(ANOMALIES)


@pytest.mark.slow
def test_each_mutation_shows_exactly_its_own_anomaly(clean_run: Path, capsys: pytest.CaptureFixture[str]):
    found = list(mutants(clean_run))

    with capsys.disabled():
        print(f"\n{told(clean_run, found).splitlines()[-1]} ({clean_run.name})")
    assert {mutant.name: mutant.found for mutant in found} == {mutant.name: mutant.expected for mutant in found}
    assert told(clean_run, found).endswith("mutation score: 13 of 13")


def test_a_judge_that_finds_nothing_has_no_score(tmp_path: Path):
    run = write_run(tmp_path / "run", simulate(1, 150), manifest=MANIFEST)

    blind = list(mutants(run, lambda _: {"counts": dict.fromkeys(ANOMALIES, 0)}))

    assert told(run, blind).endswith("mutation score: 0 of 13")


@pytest.mark.slow
def test_the_run_itself_is_only_read(tmp_path: Path):
    run = write_run(tmp_path / "run", simulate(1, 150), manifest=MANIFEST)
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}

    list(mutants(run))

    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_a_run_with_an_anomaly_cannot_be_mutated(tmp_path: Path):
    run = write_run(tmp_path / "run", [sent(1, 0), read(2, 1), drained(2)])

    with pytest.raises(UsageError, match=r"is not clean \(lost-write 1, phantom-read 1\)"):
        list(mutants(run))


def test_a_history_too_small_for_a_mutation_says_so():
    with pytest.raises(NoSite, match="no committed transaction has two or more records"):
        MUTATORS["torn-transaction"](Recording({}, [sent(1, 0), read(1, 0), drained(1)]))


def test_where_there_is_no_site_the_score_does_not_count_it_as_caught(tmp_path: Path):
    run = write_run(tmp_path / "run", [sent(1, 0), read(1, 0), drained(1)])

    found = list(mutants(run))

    assert not any(mutant.missed for mutant in found)
    assert "no site  torn-transaction" in told(run, found)
    assert told(run, found).endswith("mutation score: 7 of 13")


def test_every_mutator_says_when_it_finds_no_site():
    for mutate in MUTATORS.values():
        with pytest.raises(NoSite):
            mutate(Recording({}, []))


@pytest.mark.slow
def test_the_command_prints_the_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    run = write_run(tmp_path / "run", simulate(1, 150), manifest=MANIFEST, form="jsonl", files=2)
    monkeypatch.setattr("sys.argv", ["mutators", str(run)])

    assert main() == 0
    assert capsys.readouterr().out.endswith("mutation score: 13 of 13\n")
    assert judge(run)["verdict"] == "PASS"
