"""A machine that stood still is told of; one that did not is not. Only what proves nothing is then tried again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.stalls import WORTH_TELLING_S, Stalls
from kafka_trial.pytest_plugin import TrialResult
from tests.cluster.conftest import open_for_a_stall

TICKING = """
import sys
from pathlib import Path
from chaos.evidence.events import EventLog
from chaos.stalls import Stalls
log = EventLog(Path(sys.argv[1]))
with Stalls(log):
    print("ticking", flush=True)
    sys.stdin.readline()
log.close()
"""


@pytest.mark.slow
def test_a_process_that_was_frozen_tells_for_how_long(tmp_path: Path):
    program = [sys.executable, "-c", TICKING, str(tmp_path / "events.jsonl")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ticking:
        assert ticking.stdin and ticking.stdout
        assert ticking.stdout.readline() == "ticking\n"
        began = time.monotonic()
        os.kill(ticking.pid, signal.SIGSTOP)
        time.sleep(WORTH_TELLING_S + 0.5)  # the freeze itself
        os.kill(ticking.pid, signal.SIGCONT)
        frozen = time.monotonic() - began
        time.sleep(0.3)
        ticking.communicate("\n")

    (stall,) = RunFolder(tmp_path).events()
    assert stall["event"] == "stall"
    assert WORTH_TELLING_S < stall["seconds"] <= frozen + 0.5


@pytest.mark.slow
def test_a_process_that_ran_has_nothing_to_tell(tmp_path: Path):
    log = EventLog(tmp_path / "events.jsonl")
    with Stalls(log):
        time.sleep(0.4)
    log.close()

    assert RunFolder(tmp_path).events() == []


@pytest.mark.parametrize(
    ("verdict", "stood_still", "again"),
    [("INCONCLUSIVE", True, True), ("INCONCLUSIVE", False, False), ("FAIL", True, False), ("PASS", True, False)],
)
def test_the_suite_tries_again_only_what_a_stall_left_open(tmp_path: Path, verdict: str, stood_still: bool, again: bool):
    log = EventLog(tmp_path / "events.jsonl")
    log.write("phase", phase="steady")
    if stood_still:
        log.write("stall", seconds=4.268)
    log.close()

    assert open_for_a_stall(TrialResult({"verdict": verdict}, {}, tmp_path)) is again
