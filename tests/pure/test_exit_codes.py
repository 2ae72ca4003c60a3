"""However a command ends, its exit code says whose failure it was: 1 is a verdict, and nothing else may look like one."""

import signal
import sys

import pytest

from kafka_trial.cli import app as command
from kernel.errors import NotReady, UsageError


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The exit code of a command that ends so, and what stands on stderr."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["kafka-trial", "run", "kill-leader"])

    def ended(how: BaseException) -> tuple[object, str]:
        def app(**_: object) -> None:
            raise how

        monkeypatch.setattr(command, "app", app)
        with pytest.raises(SystemExit) as over:
            command.main()
        return over.value.code, capsys.readouterr().err

    return ended


@pytest.mark.parametrize(
    ("how", "code", "sentence"),
    [
        (UsageError("rate 0 cannot be."), 2, "kafka-trial: rate 0 cannot be.\n"),
        (NotReady("broker 2 is not back."), 4, "kafka-trial: broker 2 is not back.\n"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(1), 1, ""),
    ],
)
def test_what_was_foreseen_is_a_code_and_at_most_a_sentence(ends, how: BaseException, code: int, sentence: str):
    assert ends(how) == (code, sentence)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (KeyError("orders"), "kafka-trial: KeyError: 'orders'. Nobody foresaw that: it is a defect of ours and no verdict."),
        (OSError("disk\n  on fire."), "kafka-trial: OSError: disk on fire. Nobody foresaw that"),
        (AssertionError(), "kafka-trial: AssertionError. Nobody foresaw that"),
        (
            ModuleNotFoundError("No module named 'x'", name="x"),
            "kafka-trial: ModuleNotFoundError: No module named 'x'. Nobody",
        ),
    ],
)
def test_what_nobody_foresaw_is_our_own_failure_with_a_traceback_and_then_a_sentence(ends, how: Exception, sentence: str):
    code, told = ends(how)

    assert code == 4, "1 would be read as FAIL"
    assert told.startswith("Traceback (most recent call last):\n")
    assert told.splitlines()[-1].startswith(sentence)
    assert told.endswith("Please report it with the traceback above.\n")


def test_what_is_not_installed_is_a_sentence_without_a_traceback(ends):
    code, told = ends(ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow"))

    assert (code, "Traceback" in told) == (4, False)
    assert told.startswith("kafka-trial: pyarrow is not installed: trials need it. Install it with pip install")
