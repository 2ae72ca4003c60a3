"""Makes the AppCDS archive, by running three real brokers once and keeping what one of them loaded.

Three and with traffic, because a lone idle broker never loads the classes of replication, of produce and of groups;
those would then be parsed in every later start.
"""

from pathlib import Path

from compose.cache import cached
from compose.cds import ARCHIVE, archive_entry
from compose.cluster import Cluster
from compose.jars import kafka_jars
from compose.processes import Processes
from compose.provider import Say
from compose.spec import ClusterSpec
from compose.toolchain import find_java


def ensure_archive(kafka: str, say: Say = lambda _: None) -> Path:
    java = find_java()
    class_path = [str(jar) for jar in kafka_jars(kafka, say)]
    entry = archive_entry(java, kafka, class_path)
    return cached(entry, lambda into: _train(kafka, into / ARCHIVE, say), mend="run `kafka-trial fetch --again`") / ARCHIVE


def _train(kafka: str, archive: Path, say: Say) -> None:
    say(f"making the class archive of Kafka {kafka} (once)")
    options = {1: [f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]}
    provider = Processes(lambda _: None, archives=False, jvm_options=options)
    with Cluster(ClusterSpec(kafka=kafka), provider=provider) as cluster:
        cluster.create_topic("training", partitions=3)
        _exchange(cluster.address.librdkafka())
        cluster.stop(1)  # the archive is written at a clean exit


def _exchange(address: dict[str, str]) -> None:
    from confluent_kafka import Consumer, Producer

    producer = Producer(address)
    for number in range(30):
        producer.produce("training", str(number), partition=number % 3)
    producer.flush(30)
    consumer = Consumer(address | {"group.id": "training", "auto.offset.reset": "earliest"})
    consumer.subscribe(["training"])
    consumer.consume(30, timeout=30)
    consumer.commit(asynchronous=False)
    consumer.close()
