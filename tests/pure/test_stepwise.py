"""A producer that is driven step by step leaves the rows that anybody's would, whatever its program answers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chaos.stepwise import client as driver
from chaos.stepwise import librdkafka
from chaos.stepwise.client import StepwiseProducer
from interceptors.ledger.ledger_writer import LedgerWriter
from kernel.errors import NotReady

ANSWERS = """
import json, sys
config = json.loads(sys.stdin.readline())
posted = []
for line in sys.stdin:
    step = json.loads(line)
    if step["do"] == config.get("dies at"):
        sys.exit(1)
    answer = {"error": config.get(step["do"])}
    if step["do"] == "post":
        posted += step["values"]
    if step["do"] == "flush":
        known = {"invoked_ns": 1, "completed_ns": 2, "error": None}
        rows = [{"value": v, "offset": n, **known} for n, v in enumerate(posted)]
        answer["records"], posted = rows[: config.get("answers", len(rows))], []
    print(json.dumps(answer), flush=True)
"""


def producer(tmp_path: Path, **config: Any) -> StepwiseProducer:
    ledger = LedgerWriter(tmp_path, "run", "producer-1")
    return StepwiseProducer([sys.executable, "-c", ANSWERS], config, ledger, 100, tmp_path / "log")


def rows(folder: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]


def test_a_transaction_is_written_down_row_by_row(tmp_path: Path):
    one = producer(tmp_path)
    one.init()
    one.begin()
    assert one.send("orders", 1, 2) == [100, 101]
    assert one.end("commit") is None
    one.begin()
    assert one.send("orders", 0, 1) == [102]
    assert one.ended(one.start("abort")) is None
    one.close()

    told = [(row["op"], row["kind"], row["outcome"], row["txn"], row["partition"], row["offset"], row["value"]) for row in rows(tmp_path)]  # fmt: skip  # noqa: E501
    assert told == [
        (1, "begin", "ok", "producer-1-1", None, None, None),
        (2, "send", "ok", "producer-1-1", 1, 0, 100),
        (3, "send", "ok", "producer-1-1", 1, 1, 101),
        (4, "commit", "ok", "producer-1-1", None, None, None),
        (5, "begin", "ok", "producer-1-2", None, None, None),
        (6, "send", "ok", "producer-1-2", 0, 0, 102),
        (7, "abort", "ok", "producer-1-2", None, None, None),
    ]
    assert one.errors == []


def test_a_commit_that_failed_may_have_been_carried_out(tmp_path: Path):
    one = producer(tmp_path, commit="_TIMED_OUT")
    one.begin()
    assert one.end("commit") == "_TIMED_OUT"
    one.close()

    assert [(row["kind"], row["outcome"], row["error"]) for row in rows(tmp_path)][1:] == [("commit", "info", "_TIMED_OUT")]
    assert one.errors == ["_TIMED_OUT"]


def test_records_without_an_answer_may_be_in_the_log(tmp_path: Path):
    one = producer(tmp_path, answers=1)
    one.send("orders", 0, 2)
    one.close()

    assert [(row["value"], row["outcome"], row["error"]) for row in rows(tmp_path)] == [
        (100, "ok", None),
        (101, "info", "_NO_ANSWER"),
    ]


def test_records_are_posted_and_answered_later(tmp_path: Path):
    one = producer(tmp_path)
    assert [*one.post("orders", 0, 1), *one.post("orders", 1, 2)] == [100, 101, 102]
    one.flush()
    assert one.post("orders", 1, 1) == [103]
    one.close()

    assert [(row["value"], row["partition"], row["outcome"]) for row in rows(tmp_path)] == [
        (100, 0, "ok"),
        (101, 1, "ok"),
        (102, 1, "ok"),
        (103, 1, "info"),  # nobody waited for it
    ]


@pytest.mark.parametrize("step", ["post", "flush"])
def test_a_program_that_ends_leaves_everything_unknown_and_takes_no_more_steps(tmp_path: Path, step: str):
    one = producer(tmp_path, **{"dies at": step})
    one.begin()
    one.send("orders", 0, 3)
    with pytest.raises(NotReady, match="client producer-1 is gone"):
        one.begin()
    one.close()

    assert [(row["kind"], row["outcome"]) for row in rows(tmp_path)] == [("begin", "ok")] + [("send", "info")] * 3


def test_both_libraries_know_the_same_steps():
    java, python = driver.SOURCE.read_text(), (driver.TOP / "chaos" / "stepwise" / "librdkafka.py").read_text()

    for step in ("init", "begin", "post", "flush", "commit", "abort"):
        assert f'case "{step}" ->' in java and json.dumps(step) in python


# ---- whoever drives it is killed ------------------------------------------------------------------------------

ORPHAN = "from chaos.stepwise import librdkafka; librdkafka.ORPHAN_PATIENCE = 0.3; librdkafka.main()"


@pytest.mark.parametrize(("steps", "code"), [([{"do": "init"}], 1), ([], 0)], ids=["in the middle of a step", "idle"])
def test_without_its_driver_it_ends_though_no_broker_answers(steps: list[dict[str, str]], code: int):
    config = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "orphan", "log_level": 0}
    lines = "".join(json.dumps(line) + "\n" for line in (config, *steps))

    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], input=lines, capture_output=True, text=True, cwd=driver.TOP, timeout=30, check=False
    )

    assert (done.returncode, done.stdout) == (code, ""), done.stderr


def test_both_libraries_have_as_long_to_end_without_their_driver():
    """Java's is not run here. That its steps are taken by another thread than the one which hears the end is what counts."""
    java = driver.SOURCE.read_text()

    assert f"int ORPHAN_PATIENCE = {librdkafka.ORPHAN_PATIENCE:.0f};" in java
    assert "new Thread(() -> listen(in, steps))" in java and "Runtime.getRuntime().halt(1)" in java
    assert "producer.close()" not in java, "it would wait for ever with a transaction open and no brokers"
