"""The probe at work: keeps its topic, sends, reads back, each in a thread of its own, so that no wait hides another."""

import logging
import secrets
import threading
from collections.abc import Callable
from typing import Any

from exporters.probe.keeping import Keeper
from exporters.probe.reading import Reader
from exporters.probe.seen import ProbePlan, Seen
from exporters.probe.sending import Sender
from exporters.probe.topic import ProbeTopic
from kernel.cluster import ClusterAddress

log = logging.getLogger(__name__)


class Probe:
    def __init__(self, address: ClusterAddress, plan: ProbePlan, config: dict[str, Any] | None = None) -> None:
        """`config`: more of librdkafka's settings, for the producer and the consumer."""
        self.seen, self.plan = Seen(), plan
        instance = secrets.token_hex(8)  # so that it knows its own records
        settings = address.librdkafka() | {"reconnect.backoff.max.ms": "2000"} | (config or {})
        self._stop = threading.Event()
        work = {
            "keep": Keeper(ProbeTopic(address, plan.topic), plan, self.seen).run,
            "send": Sender(settings, plan, self.seen, instance).run,
            "read": Reader(settings, plan, self.seen, instance).run,
        }
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
        for thread in self._threads:
            thread.join(10)

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
