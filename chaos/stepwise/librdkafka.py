"""librdkafka's producer, one step at a time.

Its configuration is the first line in, every further line a step, and every line out what came of one: the same words as
chaos/java/Stepwise.java.
"""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0  # seconds for a call of the transactional API
ORPHAN_PATIENCE = 15.0  # seconds
AGAIN = 20  # times that a step may be repeated: librdkafka leaves that to the caller


class Stepping:
    def __init__(self, config: dict[str, Any]) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(config)
        self._rows: list[dict[str, Any]] = []  # of records whose answers nobody asked for yet
        self._steps: dict[str, Callable[[], None]] = {
            "init": lambda: self._producer.init_transactions(PATIENCE),
            "begin": self._producer.begin_transaction,
            "commit": lambda: self._producer.commit_transaction(PATIENCE),
            "abort": lambda: self._producer.abort_transaction(PATIENCE),
        }

    def answer(self, step: dict[str, Any]) -> dict[str, Any]:
        from confluent_kafka import KafkaException

        try:
            if step["do"] == "post":
                self._post(**{k: step[k] for k in ("topic", "partition", "values", "size")})
                return {"error": None}
            if step["do"] == "flush":
                return {"error": None, "records": self._flushed()}
            self._repeated(self._steps[step["do"]])
        except KafkaException as trouble:
            return {"error": trouble.args[0].name()}
        return {"error": None}

    def _repeated(self, call: Callable[[], None]) -> None:
        from confluent_kafka import KafkaException

        for left in reversed(range(AGAIN)):
            try:
                call()
                return
            except KafkaException as trouble:
                if not left or not trouble.args[0].retriable():
                    raise

    def _post(self, topic: str, partition: int, values: list[int], size: int) -> None:
        for value in values:
            row: dict[str, Any] = {"value": value, "invoked_ns": time.monotonic_ns()}
            self._rows.append(row)
            payload = (b"%016d" % value).ljust(size, b".")
            self._producer.produce(topic, payload, partition=partition, on_delivery=_noting(row))

    def _flushed(self) -> list[dict[str, Any]]:
        self._producer.flush(PATIENCE)
        rows, self._rows = self._rows, []
        return rows


def _noting(row: dict[str, Any]) -> Callable[[Any, Any], None]:
    def note(error: Any, message: Any) -> None:
        row["completed_ns"] = time.monotonic_ns()
        row["error"] = None if error is None else error.name()
        row["offset"] = message.offset() if error is None else None

    return note


def main() -> None:
    config = json.loads(sys.stdin.readline())
    steps: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(steps,), daemon=True).start()
    client = Stepping(config)
    while (line := steps.get()) is not None:
        os.write(1, (json.dumps(client.answer(json.loads(line))) + "\n").encode())


def _listen(steps: "queue.SimpleQueue[str | None]") -> None:
    """When stdin ends, whoever drives us is gone, and perhaps the brokers with it: a step may take twenty minutes then."""
    for line in sys.stdin:
        steps.put(line)
    steps.put(None)
    time.sleep(ORPHAN_PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    main()
