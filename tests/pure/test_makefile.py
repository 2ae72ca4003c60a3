"""The two commands, before anything is installed: what is missing is said in one sentence."""

import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def make(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["make", "--no-print-directory", *words], cwd=TOP, capture_output=True, text=True, check=False)


def test_a_bare_make_lists_every_task():
    listed = make().stdout

    tasks = [
        line.split(":")[0] for line in (TOP / "Makefile").read_text().splitlines() if line[:1].isalpha() and "  ## " in line
    ]
    assert {"demo", "test", "setup", "check"} <= set(tasks)
    assert all(f"make {task} " in listed for task in tasks)


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("no-such-python", "no-such-python is not on the PATH: install Python 3.11 or newer"),
        ("old-python", "but kafka-trial needs Python 3.11 or newer: install it, or say which with make PYTHON=python3.11."),
    ],
)
def test_a_missing_or_old_python_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str, sentence: str
):
    old = tmp_path / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2\nexit 1\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    refused = make("setup", f"VENV={tmp_path}/venv", f"PYTHON={python}")

    assert refused.returncode != 0
    assert sentence in refused.stderr
    assert not (tmp_path / "venv").exists()
