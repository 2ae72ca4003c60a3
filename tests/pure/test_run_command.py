"""`kafka-trial run` before anything is started: what there is to run, and what is refused, in one sentence each."""

import json
from pathlib import Path

import pytest

from chaos.scenarios import SCENARIOS
from kafka_trial.cli.run import run
from tests.pure.commands import ran


def test_the_list_has_every_scenario_with_its_options_its_needs_and_its_twin():
    told = ran(run, "--list")

    assert told.code == 0
    for scenario in SCENARIOS.values():
        assert f"{scenario.name} (" in told.out and scenario.promise in told.out
        assert all(f"-o {name}={option.default} " in told.out for name, option in scenario.options.items())
        assert not scenario.twin or scenario.twin_finds in told.out
    assert "    needs libfaketime, brokers as processes\n" in told.out


def test_programs_read_the_same():
    told = {one["name"]: one for one in json.loads(ran(run, "--list", "--json").out)}

    assert told.keys() == SCENARIOS.keys()
    assert told["slow-disk"]["needs"] == ["root (it mounts disks)", "brokers as processes"]
    assert (told["slow-disk"]["family"], told["slow-disk"]["twin"]) == ("machines", {"stall": "long"})


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rolling-restart", "last-replica", "--provider", "containers"], "last-replica reaches into what brokers keep"),
        (["rolling-restart", "sequence-gap", "--security", "tls"], "sequence-gap tells single requests apart"),
        (["rolling-restart", "add-brocker"], "scenario 'add-brocker' is not known"),
        (["rolling-restart", "--provider", "cloud"], "provider 'cloud' is not known"),
        ([], "no scenario was named"),
    ],
)
def test_the_last_of_several_is_checked_before_the_first_is_started(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("compose.cluster.Cluster.boot", lambda _self: pytest.fail("a cluster was started"))

    told = ran(run, *words, "--runs", tmp_path / "runs")

    assert told.code == 2
    assert sentence in told.err.replace("\n", " ") and told.err.strip().endswith(".")
    assert not (tmp_path / "runs").exists()
