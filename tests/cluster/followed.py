"""A topic followed by a process of its own, so that it can be killed: says how far it is, one line a batch.

python -m tests.cluster.followed results|audit once|ever OUT CHECKPOINT TOPIC MOST
A cluster's address comes as JSON by stdin, because it holds a password.
"""

import json
import signal
import sys
import threading
from pathlib import Path

from compose.jars import spark_kafka_jars
from kernel.cluster import ClusterAddress
from kernel.errors import SuiteError
from spark_reports.kafka.options import SESSION, kafka_options
from spark_reports.kafka.stream import follow
from spark_reports.kafka.tables import add_reports, add_results
from spark_reports.nightly.store import Store
from spark_reports.session import spark_session

ADDS = {"results": add_results, "audit": add_reports}


def say(words: str) -> None:
    print(words, flush=True)


def main(what: str, how: str, out: str, checkpoint: str, topic: str, most: str) -> None:
    address, stop = ClusterAddress(**json.load(sys.stdin)), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = {**SESSION, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    with spark_session("followed", master="local[2]", jars=spark_kafka_jars(), settings=settings) as spark:
        say("session")
        count = follow(
            spark, kafka_options(address, topic), ADDS[what](Store(Path(out)), say),
            checkpoint=Path(checkpoint), once=how == "once", stop=stop, every=0.2, most=int(most), say=say,
        )  # fmt: skip
    say(f"done {count}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except SuiteError as error:
        say(f"failed: {error.message}")
        sys.exit(error.exit_code)
