"""Keeps one partition of the probe's topic with each broker, and says where in each the reader is to begin."""

import logging
import threading
import time
from collections.abc import Callable

from exporters.probe.placing import home, moves
from exporters.probe.seen import ProbePlan, Seen, Start
from exporters.probe.tallying import Tally
from exporters.probe.topic import Looked, ProbeTopic
from kernel.errors import SuiteError

log = logging.getLogger(__name__)
SOON = 1.0  # after something was moved, or could not be


class Keeper:
    def __init__(
        self, topic: ProbeTopic, plan: ProbePlan, seen: Seen, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._topic, self._plan, self._seen, self._clock = topic, plan, seen, clock
        self._missing: dict[int, float] = {}  # broker → when it was first not there
        self._trouble = ""

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                settled = self.place()
                self._tell("")
            except SuiteError as trouble:
                settled = False
                self._tell(trouble.message)
                with self._seen.lock:
                    self._seen.placement_errors += 1
            stop.wait(self._plan.place_every if settled else min(SOON, self._plan.place_every))

    def place(self) -> bool:
        """Once. Whether everything is where it belongs."""
        looked = self._look()
        self._begin(looked)
        partitions, alive = looked.partitions, looked.brokers
        wanted = moves(partitions, alive, self._gone(looked), self._plan.replication)
        if not partitions and wanted.create:
            self._topic.create(wanted.create)
        elif wanted:
            self._topic.apply(wanted, len(partitions))
        return bool(partitions) and not wanted

    def _look(self) -> Looked:
        try:
            looked = self._topic.look()
        except SuiteError:
            with self._seen.lock:
                self._seen.up = False
            raise
        with self._seen.lock:
            self._seen.up = True
            self._seen.brokers, self._seen.addresses = looked.brokers, looked.addresses
            self._seen.homes = {state.partition: home(state) for state in looked.partitions}
            self._seen.leaders = {state.partition: state.leader for state in looked.partitions}
        return looked

    def _gone(self, looked: Looked) -> set[int]:
        """Brokers that hold something of the topic and have not been there for so long that they are not expected back.
        Only time in which somebody looked is counted: a probe that was blind itself has nothing to say."""
        now = self._clock()
        missing = {broker for state in looked.partitions for broker in state.replicas} - looked.brokers
        self._missing = {broker: self._missing.get(broker, now) for broker in missing}
        return {broker for broker, since in self._missing.items() if now - since > self._plan.gone_after}

    def _begin(self, looked: Looked) -> None:
        """A partition is begun at its end, and nothing is sent to it before: the reader must not have missed what it is
        asked about. One whose log was cut is read again from its beginning, for what is there now."""
        topic_id = self._topic.id()
        with self._seen.lock:
            if topic_id != self._seen.topic_id:  # another topic of that name, or none
                self._seen.topic_id = topic_id
                self._seen.starts.clear()
                self._seen.adrift.clear()
            led = {state.partition for state in looked.partitions if state.leader is not None}
            new = led - self._seen.starts.keys()
            cut = led & self._seen.adrift
        for partition, offset in self._topic.ends(new).items():
            with self._seen.lock:
                self._seen.tallies.setdefault(partition, Tally(self._plan.patience)).begin()
                self._seen.starts[partition] = Start(offset)
        for partition, offset in self._topic.beginnings(cut).items():
            with self._seen.lock:
                self._seen.adrift.discard(partition)
                self._seen.starts[partition] = Start(offset)

    def _tell(self, trouble: str) -> None:
        """What goes on and on is told once."""
        if trouble and trouble != self._trouble:
            log.warning("%s", trouble)
        if not trouble and self._trouble:
            log.info("topic %s is looked after again", self._plan.topic)
        self._trouble = trouble
