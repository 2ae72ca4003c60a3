"""The probe at work: keeps its topic, sends, reads back, commits: each in its own thread, so that no wait hides another."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from exporters.probe.certificates import CertificateWatch, uses_tls
from exporters.probe.committing import Committer
from exporters.probe.keeping import Keeper
from exporters.probe.reading import Reader
from exporters.probe.seen import ProbePlan, Seen
from exporters.probe.sending import Sender
from exporters.probe.topic import ProbeTopic
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError

log = logging.getLogger(__name__)
LAST_WORDS = 3.0  # seconds its threads have to end; one that waits for a cluster that is not there is left behind


class Probe:
    def __init__(self, address: ClusterAddress, plan: ProbePlan, config: Mapping[str, Any] | None = None) -> None:
        """`config`: more of librdkafka's settings."""
        self.seen, self.plan = Seen(), plan
        instance = secrets.token_hex(8)  # so that it knows its own records
        settings = address.librdkafka() | IMPATIENCE | dict(config or {})
        sender, reader = Sender(settings, plan, self.seen, instance), Reader(settings, plan, self.seen, instance)
        _refuse_what_librdkafka_refuses(sender.config, reader.config)
        keeper = Keeper(ProbeTopic(address, settings, plan.topic), plan, self.seen)
        committer = Committer(reader.config, plan, self.seen)
        work = {"keep": keeper.run, "send": sender.run, "read": reader.run, "commit": committer.run}
        if uses_tls(settings):
            work["look at certificates"] = CertificateWatch(settings, plan, self.seen).run
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._again, args=(name, run), name=f"probe {name}", daemon=True)
            for name, run in work.items()
        ]

    def __enter__(self) -> "Probe":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        deadline = time.monotonic() + LAST_WORDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    @property
    def ready(self) -> bool:
        """A record has made its round."""
        with self.seen.lock:
            return any(tally.received for tally in self.seen.tallies.values())

    def _again(self, name: str, run: Callable[[threading.Event], None]) -> None:
        """A daemon whose thread died of a bug of ours would look like a dead cluster: it is told, and begun anew."""
        while not self._stop.is_set():
            try:
                run(self._stop)
            except Exception:
                log.exception("the probe's thread to %s ended and is begun anew", name)
                self._stop.wait(1)


# A client finds out by its next look at the metadata that a leader which hangs leads no more. librdkafka looks every five
# minutes, and waits a minute for an answer: records would be late for so long, and Kafka would not be to blame.
IMPATIENCE = {
    "topic.metadata.refresh.interval.ms": 5_000,
    "socket.timeout.ms": 10_000,
    "reconnect.backoff.max.ms": 2_000,
}


def _refuse_what_librdkafka_refuses(producer: Mapping[str, Any], consumer: Mapping[str, Any]) -> None:
    """Before anything runs."""
    from confluent_kafka import Consumer, KafkaException, Producer

    try:
        Producer(dict(producer))
        Consumer(dict(consumer)).close()
    except KafkaException as trouble:
        raise UsageError(f"librdkafka does not take these settings: {trouble.args[0].str()}.") from None
