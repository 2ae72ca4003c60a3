"""The page on the probe leaves nothing out: every key, every figure; and its alerts ask for figures that exist."""

import re
from pathlib import Path

import pytest

from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.probe_config import ProbeConfig
from kernel.metric_tables.probe import ROWS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "probe.md").read_text()
TABLES = [line for line in PAGE.splitlines() if line.startswith("| `")]


def test_every_key_is_explained_with_its_default():
    explained = {
        name: line.split("|")[2].strip(" `") for line in TABLES for name in re.findall(r"`([a-z_.]+)`", line.split("|")[1])
    }
    fields = ProbeConfig.model_fields
    plain = {name for name in fields if name not in ("tls", "login", "kafka")}
    nested = {"kafka." + name for name in fields["kafka"].annotation.model_fields if name != "login"}  # type: ignore[union-attr]

    assert plain | nested <= explained.keys()
    assert {name: explained[name].strip('"') for name in plain} == {name: shown(fields[name].default) for name in plain}


def shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


def test_every_figure_is_explained():
    explained = {name for line in TABLES for name in re.findall(r"`([a-z_]+)`", line.split("|")[1])}

    assert {row.name.removeprefix("kafka_probe_") for row in ROWS} <= explained


def test_alerts_ask_for_figures_that_exist():
    asked = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bkafka_probe_[a-z_]+[a-z]\b", PAGE)}

    assert asked <= {row.name for row in ROWS}
    assert len(asked) > 8


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_the_example_is_a_file_that_works(tmp_path: Path, example: str):
    for name in ("ca.pem", "probe.password"):
        (tmp_path / name).touch()
    (tmp_path / "probe.toml").write_text(example)

    assert load(tmp_path / "probe.toml", ProbeConfig).kafka.login is not None
