"""Keeps one partition of the probe's topic with each broker."""

import logging
import threading
import time
from collections.abc import Callable

from exporters.probe.placing import home, moves
from exporters.probe.seen import ProbePlan, Seen
from exporters.probe.topic import ProbeTopic
from kernel.errors import SuiteError

log = logging.getLogger(__name__)
SOON = 1.0  # after something was moved, or could not be


class Keeper:
    def __init__(
        self, topic: ProbeTopic, plan: ProbePlan, seen: Seen, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._topic, self._plan, self._seen, self._clock = topic, plan, seen, clock
        self._last_seen: dict[int, float] = {}  # broker

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                settled = self.place()
            except SuiteError as trouble:
                settled = False
                log.warning("%s", trouble.message)
                with self._seen.lock:
                    self._seen.placement_errors += 1
            stop.wait(self._plan.place_every if settled else SOON)

    def place(self) -> bool:
        """Once. Whether everything is where it belongs."""
        alive, partitions = self._topic.look()
        now = self._clock()
        self._last_seen |= dict.fromkeys(alive, now)
        for state in partitions:  # nobody has seen it yet, and yet it has its time to come back
            for broker in state.replicas:
                self._last_seen.setdefault(broker, now)
        gone = {broker for broker, at in self._last_seen.items() if now - at > self._plan.gone_after}
        with self._seen.lock:
            self._seen.brokers = alive
            self._seen.homes = {state.partition: home(state) for state in partitions}
            self._seen.leaders = {state.partition: state.leader for state in partitions}
        wanted = moves(partitions, alive, gone, min(self._plan.replication, len(alive)))
        if not partitions and wanted.create:
            self._topic.create(wanted.create)
        elif wanted:
            self._topic.apply(wanted, len(partitions))
        return bool(partitions) and not wanted
