"""One of several instances: takes shards over, writes down what is open in them, and hands them on.

What is to be told is written down before it is sent: one that dies leaves nothing behind of which the next does not know. If
it dies after a notice arrived and before that is written down too, the next sends it once more, under the same key.
"""

import logging
import threading
from collections.abc import Callable, Mapping

from lag_monitor.alerts.alerts import Alerts
from lag_monitor.sharing.handover import Ledger, Plain, together
from lag_monitor.sharing.lease import Instances, Lease
from lag_monitor.sharing.shards import shard_of
from lag_monitor.watch import Watch

log = logging.getLogger(__name__)
AGAIN = 1.0  # seconds after which what did not arrive is written once more


class Instance:
    """`partitions` of a cluster's topic of commits; `moved` is called, with the lock held, when other shards are ours."""

    def __init__(
        self, plan: Instances, meeting: Watch, alerts: Alerts, partitions: Callable[[str], int], moved: Callable[[], None]
    ) -> None:
        self._plan, self._alerts, self._partitions, self._moved = plan, alerts, partitions, moved
        self.lock = threading.RLock()  # what is told and whose it is change together
        self.lease = Lease(meeting.address, meeting.settings, plan, self)
        self._ledger = Ledger(self.lease.write, self._shard)
        self._changed, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="write down what is open", daemon=True)
        alerts.adopt({})  # what the file holds is of an earlier life: what is open now, the topic tells
        alerts.written_down_first(self._changed.set)

    def start(self) -> None:
        self.lease.start()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._changed.set()
        self.lease.stop()

    @property
    def met(self) -> bool:
        """Has found the others, or that there are none."""
        return self.lease.met

    @property
    def shards(self) -> tuple[frozenset[int], int] | None:
        """Those whose groups are ours to look at, of how many; None: all groups are, whoever tells of them."""
        return (self._ledger.shards, self._plan.shards) if self._plan.shards > 1 else None

    def tells(self, cluster: str, group: str) -> bool:
        return self._shard(cluster, group) in self._ledger

    def _shard(self, cluster: str, group: str) -> int:
        return shard_of(group, self._plan.shards, self._partitions(cluster))

    # ---- from hand to hand ---------------------------------------------------------------------------------------------

    def gained(self, found: Mapping[int, Mapping[str, bytes]]) -> None:
        with self.lock:
            self._alerts.active = False  # and waits for what is under way
            known = self._known()
            for shard, records in found.items():
                known |= self._ledger.gained(shard, records)
            self._go_on(known)

    def lost(self, shards: frozenset[int], orderly: bool) -> None:
        with self.lock:
            self._alerts.active = False
            if orderly:
                self._ledger.publish(self._alerts.export(), at_rest=True)
                if not self.lease.flush():
                    log.warning("not all that is open in the shards %s could be handed over", sorted(shards))
            else:
                self.lease.forget()
            kept = self._known(without=shards)
            self._ledger.lost(shards)
            self._go_on(kept)

    def disturbed(self, shard: int, key: str) -> None:
        with self.lock:
            self._ledger.doubt(shard, key)
        self._changed.set()

    def _known(self, without: frozenset[int] = frozenset()) -> dict[str, Plain]:
        ours = self._ledger.ours(self._alerts.export())
        return {key: part for shard, parts in ours.items() if shard not in without for key, part in parts.items()}

    def _go_on(self, parts: Mapping[str, Plain]) -> None:
        self._alerts.adopt(together(parts))
        self._alerts.active = bool(self._ledger.shards)
        self._moved()
        self._changed.set()

    # ---- writing down --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stop.is_set():
            self._changed.wait(AGAIN)
            self._changed.clear()
            try:
                self._write_down()
            except Exception:  # a bug of ours, or a record that Kafka does not take: what waits must not wait for ever
                log.exception("what is open could not be written down and is tried again")
                self._stop.wait(AGAIN)

    def _write_down(self) -> None:
        with self.lock:
            if not (self._alerts.active and self.lease.awake) or self._stop.is_set():
                return
            for shard, key in self.lease.not_taken():
                self._ledger.doubt(shard, key)
            mark = self._alerts.mark
            self._ledger.publish(self._alerts.export())
        if self.lease.flush():
            self._alerts.release(mark)
