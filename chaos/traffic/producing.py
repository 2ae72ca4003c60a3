"""A producer at a pace, with transactions if they are wanted; its ledger hears what it sends and what became of it.

Records carry their value as text. At full speed nothing can be kept for each record, so `FlatOut` writes its own rows.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any

from chaos.traffic.flat_out import BATCH, FlatOut
from chaos.traffic.pacing import Pace
from chaos.traffic.plans import ProducerPlan
from chaos.traffic.transacting import PATIENCE, kafka_error, requested
from interceptors.ledger import Ledger
from interceptors.ledger.announcement import Announcement
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.valuing import PayloadValues, digits
from interceptors.loading import CLASSES, listed, split

ACCOUNT_EVERY = 0.1  # seconds


class Producing:
    def __init__(
        self, plan: ProducerPlan, config: dict[str, Any], ledger: LedgerWriter, promise: Announcement, first: int
    ) -> None:
        self.plan, self._writer, self._promise = plan, ledger, promise
        self._ledger = Ledger(ledger, PayloadValues(digits), promise)
        self._settings = {
            "acks": plan.acks,
            "enable.idempotence": plan.idempotence or plan.transaction is not None,
            "linger.ms": 20,
            "partitioner": "murmur2_random",  # as Java's
            "queue.buffering.max.messages": 200_000,
            "log_level": 0,
            # The run's name too: two runs on one cluster would fence each other's producers.
            **({"transactional.id": f"{promise.run_id}-{promise.client}"} if plan.transaction else {}),
            **plan.config,
        }
        # At full speed nobody can hear of single records; if somebody wants to, it is not that fast.
        self._flat = plan.flat_out and CLASSES not in {**config, **plan.config}
        self._producer = self._made(config | self._settings)
        if plan.transaction:
            self._producer.init_transactions(PATIENCE)
        targets = [(topic, p) for topic, partitions in plan.topics.items() for p in range(partitions)]
        self._targets = cycle(targets)
        self._sizes = random.Random(plan.seed)
        self._next, self._sent = first, 0
        self._flat_out = FlatOut(self._producer, self._poll, targets, first, plan.size) if self._flat else None
        self._in_transaction = False
        self._fatal: str | None = None  # the error after which this producer is of no more use
        self._txns = 0
        self._account_at = 0.0
        self._bursts: list[list[int]] = []  # first value, and the one after the last
        self._txn_first = first
        self._held: list[int] = []  # the same of a transaction that is kept open

    def _made(self, config: dict[str, Any]) -> Any:
        if self._flat:
            from confluent_kafka import Producer as Bare

            return Bare(split(config)[0])
        from interceptors import Producer

        # By the time it is closed everything has been waited for, here.
        ours = {"interceptor.classes": [self._ledger, *listed(config.get(CLASSES))], "interceptor.close.timeout.ms": 0}
        return Producer(config | ours)

    def run(self, command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> None:
        pace = Pace(self.plan.rate, time.monotonic_ns()) if self.plan.rate else None
        resting = False
        while (order := command()) != "stop":
            if order in ("pause", "resume"):
                resting = order == "pause"
                if pace:
                    pace.resumed(time.monotonic_ns())
            elif order and order.startswith("burst "):
                self._burst(int(order.removeprefix("burst ")))
            elif order == "hold":
                resting = True
                if self._hold(command, report) == "stop":
                    break
            if resting or self._spent:
                self._poll(0.02)
            elif pace:
                self._paced(pace)
            elif self._flat_out:
                self._promise.up_to(self._flat_out.next + BATCH)
                self._flat_out.send()
            else:
                self._unpaced()
            self._account(report)
        self._close(report)

    def status(self) -> dict[str, Any]:
        done, fast = self._ledger.deliveries, self._flat_out
        counts = fast.acked_by_partition() if fast else done.acked
        acked: dict[str, dict[str, int]] = {topic: {} for topic in self.plan.topics}
        for (topic, partition), count in counts.items():
            acked[topic][str(partition)] = count
        sent, open_ = (fast.sent, fast.open) if fast else (self._sent, self._ledger.open)
        outcomes = {**done.outcomes, "ok": sum(counts.values())}
        known = {"acked": acked, "errors": dict(done.errors), "bursts": self._bursts, "fatal": self._fatal}
        return {"sent": sent, "open": open_, "holding": self._held, **outcomes, **known}

    @property
    def _spent(self) -> bool:
        return self.plan.records is not None and self._sent >= self.plan.records

    def _paced(self, pace: Pace) -> None:
        for _ in range(min(pace.due(time.monotonic_ns()), BATCH)):
            if not self._spent:
                self._send(pace.take())
        self._poll(min(0.02, pace.wait_s(time.monotonic_ns())))

    def _poll(self, timeout: float) -> None:
        """Serve the delivery reports. A producer that failed for good says so here, at every call from then on."""
        if not self._serve(self._producer.poll, timeout):
            time.sleep(timeout)

    def _serve(self, call: Callable[[float], int], timeout: float) -> bool:
        """Whether the producer is still of use. If not it has no more answers, and what is open stays unknown."""
        from confluent_kafka import KafkaException

        try:
            call(timeout)
        except (KafkaException, SystemError) as trouble:
            if self._fatal is None:
                self._fatal = str(kafka_error(trouble).name())
                self._ledger.deliveries.errors[self._fatal] += 1
            return False
        return True

    def _burst(self, count: int) -> None:
        """So many records at once, and which: for a scenario that must know exactly what it put at risk."""
        first = self._next
        for _ in range(count):
            self._send(None)
        self._bursts.append([first, self._next])

    def _hold(self, command: Callable[[], str | None], report: Callable[[dict[str, Any]], None]) -> str:
        """Half a transaction that is to be committed, acknowledged to its last record, and then nothing; until it is told to
        commit, and then rests. All of it is on disk: this one is about to be killed, or frozen."""
        size = self.plan.transaction or 2
        while not self._in_transaction or self._to_abort or self._sent % size != size // 2:
            self._send(None)
        self._serve(self._producer.flush, PATIENCE)
        self._ledger.book.sync()
        self._held = [self._txn_first, self._next]
        while (order := command()) not in ("stop", "commit"):
            self._poll(0.02)
            self._account(report)
        self._held = []
        self._end_transaction()
        return str(order)

    def _unpaced(self) -> None:
        for _ in range(BATCH):
            if not self._spent:
                self._send(None)
        self._poll(0)

    def _account(self, report: Callable[[dict[str, Any]], None]) -> None:
        now = time.monotonic()
        if now < self._account_at:
            return
        self._account_at = now + ACCOUNT_EVERY
        self._write_down()
        report(self.status())

    def _write_down(self) -> None:
        """Everything whose outcome became known since the last time."""
        if fast := self._flat_out:
            self._writer.rows(*fast.columns())
            for row in fast.failures():
                self._ledger.deliveries.outcomes[row["outcome"]] += 1
                self._ledger.deliveries.errors[row["error"]] += 1
                self._writer.row(**row)
        self._ledger.book.write_down()

    def _close(self, report: Callable[[dict[str, Any]], None]) -> None:
        from confluent_kafka import KafkaException

        self._end_transaction()
        patience = float(str(self._settings.get("message.timeout.ms", 300_000))) / 1000 + PATIENCE
        self._serve(self._producer.flush, patience)
        self._write_down()
        for row in self._flat_out.unknown() if self._flat_out else ():
            self._writer.row(**row)
        self._ledger.close()
        if not self._flat:
            with suppress(KafkaException):  # of no more use, and closed all the same
                self._producer.close()
        report(self.status())

    # ---- sending ----------------------------------------------------------------------------------------------

    def _send(self, scheduled: int | None) -> None:
        if self.plan.transaction and not self._in_transaction:
            self._begin_transaction()
        topic, partition = next(self._targets)
        value = self._next
        self._next, self._sent = self._next + 1, self._sent + 1
        self._ledger.scheduled_ns = scheduled
        how: dict[str, Any] = {"key": f"key-{value % self.plan.keys}"} if self.plan.keys else {"partition": partition}
        self._hand_over(self._payload(value), topic, how)
        if self.plan.transaction and self._sent % self.plan.transaction == 0:
            self._end_transaction()

    def _hand_over(self, payload: bytes, topic: str, how: dict[str, Any]) -> None:
        while True:
            try:
                self._producer.produce(topic, payload, **how)
                return
            except BufferError:  # its queue is full: the cluster is behind, and our lateness shows by how much
                self._poll(0.05)
            except Exception:  # refused on the spot: the ledger has it
                return

    def _payload(self, value: int) -> bytes:
        size = self.plan.size if self.plan.size_max is None else self._sizes.randint(self.plan.size, self.plan.size_max)
        return (b"%016d" % value).ljust(size, b".")

    # ---- transactions -----------------------------------------------------------------------------------------

    def _begin_transaction(self) -> None:
        self._txns += 1
        self._txn_first = self._next
        self._in_transaction = True
        requested(self._producer.begin_transaction)

    @property
    def _to_abort(self) -> bool:
        return self.plan.abort_every is not None and self._txns % self.plan.abort_every == 0

    def _end_transaction(self) -> None:
        if not self._in_transaction:
            return
        on_purpose = self._to_abort
        if on_purpose:
            # An abort takes back what is still in the client's queue, and one whose records all were ends in a fatal
            # INVALID_TXN_STATE (librdkafka 2.16 on Kafka 4.3). And an abort that reaches no log would test nothing.
            self._serve(self._producer.flush, PATIENCE)
        if on_purpose or not requested(self._producer.commit_transaction, PATIENCE):
            requested(self._producer.abort_transaction, PATIENCE)
        self._in_transaction = False
