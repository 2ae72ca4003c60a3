"""A producer in a process of its own, driven step by step; what it does is in the ledger like anybody's.

Two libraries speak the same words: librdkafka, and Kafka's own Java client from the jars that the brokers run on.
"""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from chaos.trial import Trial
from compose.jars import kafka_jars
from compose.toolchain import find_java
from interceptors.ledger.ledger_writer import LedgerWriter
from kernel.errors import NotReady
from kernel.ledger import Kind, Outcome

LIBRARIES = ("java", "librdkafka")
TOP = Path(__file__).parent.parent.parent
SOURCE = TOP / "chaos" / "java" / "Stepwise.java"
LEAN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms16m", "-Xmx128m", "-XX:-UsePerfData")
PATIENCE = 90.0  # seconds for one step, the client's own retries included


class StepwiseProducer:
    def __init__(self, command: list[str], config: dict[str, Any], ledger: LedgerWriter, first: int, log: Path) -> None:
        self._ledger, self._next = ledger, first
        self._op = self._begun = 0
        self._posted: list[tuple[str, int, int, int]] = []  # topic, partition, value, when; without an answer so far
        self._over = False  # it ended, or did not answer
        self.txn: str | None = None
        self.errors: list[str] = []  # of steps and of records: what the application was told
        with log.open("ab") as words:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, cwd=TOP, start_new_session=True
            )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._say(config)

    # ---- steps -------------------------------------------------------------------------------------------------

    def init(self) -> None:
        self._say({"do": "init"})
        self._told(self._answer())

    def begin(self) -> None:
        self._begun += 1
        self.txn = f"{self._ledger.client}-{self._begun}"
        invoked = time.monotonic_ns()
        self._say({"do": "begin"})
        self._row(Kind.BEGIN, invoked, self._answer())

    def send(self, topic: str, partition: int, count: int, size: int = 100) -> list[int]:
        """So many records to one partition; returns their values once there is an answer to each."""
        values = self.post(topic, partition, count, size)
        self.flush()
        return values

    def post(self, topic: str, partition: int, count: int, size: int = 100) -> list[int]:
        """The same without waiting for answers, which `flush` does: for whoever has something to do meanwhile."""
        values = list(range(self._next, self._next + count))
        self._next += count
        invoked = time.monotonic_ns()
        self._say({"do": "post", "topic": topic, "partition": partition, "values": values, "size": size})
        self._posted += [(topic, partition, value, invoked) for value in values]
        self._told(self._answer())
        return values

    def flush(self) -> None:
        """A row for each record that was posted, with its answer or without."""
        answer = None
        if not self._over:
            self._say({"do": "flush"})
            answer = self._answer()
        known = {row["value"]: row for row in (answer or {}).get("records", [])}
        for topic, partition, value, invoked in self._posted:
            row = {"invoked_ns": invoked, "error": "_NO_ANSWER"} | known.get(value, {})
            self._send_row(topic, partition, value, row)
        self._posted = []

    def end(self, how: str) -> str | None:
        """Commit or abort; returns the error that the application is told, if any."""
        return self.ended(self.start(how))

    def start(self, how: str) -> tuple[str, int]:
        """The same in two halves, for whoever has something to do while it is under way."""
        began = (how, time.monotonic_ns())
        self._say({"do": how})
        return began

    def ended(self, began: tuple[str, int]) -> str | None:
        how, invoked = began
        return self._row(Kind(how), invoked, self._answer())

    # ---- inside ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """However it stands: gone afterwards, and its ledger closed."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._over = True
        self.flush()  # what was posted and not waited for may be in the log
        self._ledger.close()

    def _row(self, kind: Kind, invoked: int, answer: dict[str, Any] | None) -> str | None:
        self._op += 1
        error = self._told(answer)
        outcome = Outcome.OK if error is None else Outcome.INFO
        self._ledger.row(
            op=self._op, ix=0, kind=kind, invoked_ns=invoked, completed_ns=time.monotonic_ns() if answer else None,
            outcome=outcome, error=error, txn=self.txn,
        )  # fmt: skip
        return error

    def _send_row(self, topic: str, partition: int, value: int, row: dict[str, Any]) -> None:
        self._op += 1
        error = row.get("error") if "completed_ns" in row else "_NO_ANSWER"
        if error is not None:
            self.errors.append(error)
        self._ledger.row(
            op=self._op, ix=0, kind=Kind.SEND, invoked_ns=row["invoked_ns"], completed_ns=row.get("completed_ns"),
            outcome=Outcome.OK if error is None else Outcome.INFO, error=error, txn=self.txn, topic=topic,
            partition=partition, offset=row.get("offset"), value=value,
        )  # fmt: skip

    def _told(self, answer: dict[str, Any] | None) -> str | None:
        error = "_NO_ANSWER" if answer is None else answer["error"]
        if error is not None:
            self.errors.append(error)
        return error

    def _answer(self) -> dict[str, Any] | None:
        try:
            answer = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            answer = None
        self._over = answer is None  # what it may still say would be the answer to something else
        return answer

    def _say(self, facts: dict[str, Any]) -> None:
        try:
            if self._over or self._process.stdin is None:
                raise BrokenPipeError
            self._process.stdin.write(json.dumps(facts).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise NotReady(f"client {self._ledger.client} is gone: it takes no steps any more.") from None

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as lines:
            for line in lines:
                self._answers.put(json.loads(line))
        self._answers.put(None)


@contextmanager
def stepwise(
    trial: Trial, name: str, library: str, *, transactional: bool = True, config: Mapping[str, str] | None = None
) -> Iterator[tuple[StepwiseProducer, dict[str, Any]]]:
    """A producer, ready for its first transaction if it has any; and its facts in the manifest, to which more may come."""
    facts: dict[str, Any] = {"role": "producer", "library": library, "ordered": True, "acks": "all", "idempotence": True}
    ledger, first = trial.traffic.guest(name, facts)
    told = {"client.id": ledger.client, "enable.idempotence": "true", **(config or {})}
    if transactional:
        told["transactional.id"] = f"{trial.folder.path.name}-{ledger.client}"
    if library == "java":
        command = _java(trial.cluster.spec.kafka)
        told |= {"bootstrap.servers": trial.cluster.address.bootstrap}
    else:
        command = [sys.executable, "-m", "chaos.stepwise.librdkafka"]
        told = trial.cluster.address.librdkafka() | {k: str(v) for k, v in trial.settings.clients.items()} | told
    producer = StepwiseProducer(command, told, ledger, first, trial.folder.logs / "clients.log")
    try:
        if transactional:
            producer.init()
        yield producer, facts
    finally:
        producer.close()


def _java(kafka: str) -> list[str]:
    jars = ":".join(str(jar) for jar in kafka_jars(kafka))
    return [str(find_java().path), *LEAN, "-cp", jars, str(SOURCE)]
