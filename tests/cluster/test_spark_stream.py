"""Topics followed by a process that is killed again and again: in the end, exactly what one clean pass finds."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from compose.cluster import Cluster
from interceptors.audit.report import encode as encode_report
from kafka_trial.results import TOPIC_CONFIG
from kernel.results import document, encode, key
from kernel.waiting import wait_until
from tests.spark.audit_histories import history
from tests.spark.night import make_runs

TOP = Path(__file__).parent.parent.parent
BATCHES = (0, 2, 0, 1)  # that a life gets done before it is killed, in the middle of the next


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as cluster:
        yield cluster


@dataclass
class Follower:
    process: "subprocess.Popen[str]"
    said: Path

    def lines(self) -> list[str]:
        return self.said.read_text().splitlines()

    def batches(self) -> int:
        return sum(line.startswith("batch") for line in self.lines())

    def ended(self, within: float = 200) -> int:
        return self.process.wait(within)


class Place:
    """One table with its checkpoint, and processes that fill it."""

    def __init__(self, cluster: Cluster, folder: Path, what: str, topic: str) -> None:
        self.cluster, self.what, self.topic = cluster, what, topic
        self.folder, self.out, self.checkpoint = folder, folder / "out", folder / "checkpoint"
        self.folder.mkdir(exist_ok=True)

    @contextmanager
    def follower(self, how: str, *, most: int = 10_000) -> Iterator[Follower]:
        said = self.folder / f"said-{time.monotonic_ns()}"
        words = [sys.executable, "-m", "tests.cluster.followed", self.what, how, self.out, self.checkpoint, self.topic, most]
        with said.open("w") as log:
            process = subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, cwd=TOP,
                start_new_session=True,
            )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(self.cluster.address)))
        process.stdin.close()
        try:
            yield Follower(process, said)
        finally:
            kill_all(process)

    def once(self, **more: Any) -> list[str]:
        with self.follower("once", **more) as follower:
            code = follower.ended()
            assert code in (0, 4), follower.said.read_text()
            return follower.lines()

    def rows(self) -> list[str]:
        table = "summary" if self.what == "results" else "audit"
        found = self.out / "current" / "tables" / table
        return sorted(json.dumps(row, default=str) for row in pq.read_table(found).to_pylist()) if found.is_dir() else []


def kill_all(process: "subprocess.Popen[str]") -> None:
    """Python and its JVM, at once, as when a machine goes down."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def fill(cluster: Cluster, topic: str, records: list[tuple[str, bytes]]) -> None:
    producer, failed = Producer(cluster.address.librdkafka()), []
    for name, value in records:
        producer.produce(topic, value, name, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(30) == 0
    assert failed == []


def results(folder: Path, count: int) -> list[tuple[str, bytes]]:
    """Of many runs; some of them are judged a second time, otherwise."""
    found = []
    for run in make_runs(folder, runs=count, nights=4):
        manifest, verdict = (json.loads((run / name).read_text()) for name in ("manifest.json", "verdict.json"))
        found.append(document(str(run), manifest, verdict, 30.0))
    again = [one | {"verdict": one["verdict"] | {"verdict": "INCONCLUSIVE"}} for one in found[:: max(1, count // 7)]]
    return [(key(one), encode(one)) for one in [*found, *again]] + [("stranger", b"no result")]


def reports(count: int) -> list[tuple[str, bytes]]:
    """Of the audit, some of them twice."""
    arrived = [one for number in range(count) for one in history(number, random.Random(number))]
    return [(report.key.decode(), encode_report(report)) for report, _ in arrived] + [("stranger", b"no report")]


def killed_after(place: Place, batches: int, seconds: float, *, most: int, both: bool) -> int:
    """One life, ended so long after so many batches. How many it got done."""
    with place.follower("once", most=most) as follower:

        def come_so_far() -> bool:
            return ("session" in follower.lines() and follower.batches() >= batches) or follower.process.poll() is not None

        wait_until(come_so_far, bool, what=f"{batches} batches", timeout=240, hint=follower.said.read_text)
        time.sleep(seconds)
        if both:
            kill_all(follower.process)
        else:  # its JVM sees the end of its input, and ends by itself
            follower.process.kill()
            follower.process.wait()
        return follower.batches()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["results", "audit"])
def test_killed_at_any_moment_it_ends_with_exactly_what_one_clean_pass_finds(cluster: Cluster, tmp_path: Path, what: str):
    topic, chance = f"{what}-killed", random.Random(8)
    cluster.create_topic(topic, config=TOPIC_CONFIG | {"cleanup.policy": "delete"})
    records = results(tmp_path / "runs", 120) if what == "results" else reports(12)
    fill(cluster, topic, records)
    tormented, clean = (Place(cluster, tmp_path / name, what, topic) for name in ("tormented", "clean"))

    done = [
        killed_after(tormented, batches, chance.uniform(0, 4), most=len(records) // 12, both=life % 2 == 0)
        for life, batches in enumerate(BATCHES)
    ]
    last = tormented.once(most=len(records) // 3)
    passed = clean.once()

    assert last[-1].startswith("done"), last
    assert 0 < sum(done) < 12, f"it was killed in the middle: {done}"
    assert passed[-1] == f"done {len(records)}", passed
    assert tormented.rows() == clean.rows()
    keys = {json.loads(row)["key"] for row in clean.rows()}
    assert len(keys) == len(clean.rows()) == len({name if what == "results" else value for name, value in records}) - 1
    version = (tormented.out / "current").resolve()
    assert tormented.once()[-1] == "done 0", "all of it is known"
    assert (tormented.out / "current").resolve() == version, "and so nothing is written"


@pytest.mark.timeout(400)
def test_it_follows_until_it_is_asked_to_end_and_says_when_records_were_deleted_unread(cluster: Cluster, tmp_path: Path):
    topic = "results-followed"
    cluster.create_topic(topic, config=TOPIC_CONFIG | {"cleanup.policy": "delete"})
    records = results(tmp_path / "runs", 14)
    place = Place(cluster, tmp_path / "place", "results", topic)
    fill(cluster, topic, records[:5])

    with place.follower("ever") as follower:
        wait_until(place.rows, lambda rows: len(rows) == 5, what="what was there", timeout=120, hint=follower.said.read_text)
        fill(cluster, topic, records[5:10])
        wait_until(
            place.rows, lambda rows: len(rows) == 10, what="what came later", timeout=60, hint=follower.said.read_text
        )
        follower.process.send_signal(signal.SIGTERM)
        assert follower.ended(60) == 0
        assert follower.lines()[-1] == "done 10"
    cluster.delete_topics(topic)
    wait_until(cluster.view.topics, lambda topics: topic not in topics, what="gone", timeout=30)
    cluster.create_topic(topic, config=TOPIC_CONFIG | {"cleanup.policy": "delete"})
    fill(cluster, topic, records[10:12])
    *_, sentence = place.once()
    assert sentence.startswith(f"failed: Records of {topic} were deleted before they were read"), sentence
    assert str(place.checkpoint) in sentence
    assert len(place.rows()) == 10
