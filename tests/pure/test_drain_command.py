"""`kafka-trial drain` where there is nothing to drain, or no way to: one sentence, exit code 2, and the folder as it was."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from interceptors import ProducerRecord
from interceptors.ledger import Ledger
from kafka_trial.cli import drain
from kernel.errors import UsageError

app = typer.Typer()
app.command()(drain.drain)


def refused(run: Path, *options: str) -> str:
    error = CliRunner().invoke(app, [str(run), *options]).exception
    assert isinstance(error, UsageError)
    return error.message


def ledger(run: Path, **config: object) -> Ledger:
    ledger = Ledger()
    named = {key.replace("__", "."): value for key, value in config.items()}
    ledger.configure({"interceptor.ledger.folder": str(run), "client.id": "shop", **named})
    return ledger


NOWHERE = ("--bootstrap", "127.0.0.1:1")


@pytest.mark.parametrize("options", [(), (*NOWHERE, "--config", "x.toml")])
def test_the_cluster_is_named_in_one_way(tmp_path: Path, options: tuple[str, ...]):
    assert refused(tmp_path, *options) == "say where the cluster is: --bootstrap HOST:PORT, or --config FILE, and not both."


def test_a_file_of_the_cluster_that_is_wrong_is_named(tmp_path: Path):
    (tmp_path / "x.toml").write_text('[kafka]\nbootstrap = "a:1"\nprotocol = "SASL_SSL"')

    assert "protocol SASL_SSL needs sasl_mechanism and a login table" in refused(
        tmp_path, "--config", str(tmp_path / "x.toml")
    )


def test_a_folder_that_is_no_run_is_named(tmp_path: Path):
    assert refused(tmp_path, *NOWHERE).startswith(f"{tmp_path / 'manifest.json'} is missing")


def test_a_run_in_which_nothing_was_sent_has_nothing_to_read_back(tmp_path: Path):
    shop = ledger(tmp_path / "run")
    shop.on_send(ProducerRecord("orders"))  # open when it was closed: not known to have reached a partition
    shop.close()

    assert refused(tmp_path / "run", *NOWHERE).endswith(
        "names no topic that was written: there is nothing to read back; give --topic."
    )


@pytest.mark.parametrize(("value", "name"), [(lambda payload: 1, ""), ("json.loads", r" (json.loads)")])
def test_code_that_a_folder_names_is_not_run_unasked(tmp_path: Path, value: object, name: str):
    ledger(tmp_path / "run", interceptor__ledger__value=value).close()

    assert f"by a function of its own{name}: name it with --value." in refused(tmp_path / "run", *NOWHERE)


def test_clients_that_are_still_at_work_are_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("chaos.evidence.seal.GRACE", 0.1)
    shop = ledger(tmp_path / "run")

    assert "are still at work" in refused(tmp_path / "run", *NOWHERE)
    shop.close()
