"""A pipeline: reads a batch, writes one record for each that it read, and commits both at once, in one transaction.

One client to the ledger, though it has a consumer and a producer: what it read, sent and committed stands in one order.
Every attempt at an input is a value of its own, from which the input can be told again: values are sent once in a run, and
an input may be tried twice. It stands still before a commit if it is told to: there a crash is felt.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from chaos.traffic.plans import PipelinePlan
from chaos.traffic.transacting import PATIENCE, answered, kafka_error, requested
from interceptors.ledger import Ledger
from interceptors.ledger.announcement import ListedValues
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.valuing import PayloadValues, digits
from interceptors.loading import CLASSES, listed
from kernel.errors import SuiteError

REPORT_EVERY = 0.1  # seconds
OFFSETS_PATIENCE = 5.0  # seconds for a group's coordinator to take the offsets of a transaction
COMMIT_AGAIN = 30.0  # seconds for which an ordinary commit is repeated
# A value in 16 digits: two for the pipeline's life, four for its batch, ten for the input. Ordinary values are smaller.
INPUTS, BATCHES, LIVES = 10**10, 10**4, 10**2

Command = Callable[[], str | None]
Report = Callable[[dict[str, Any]], None]


def output_value(life: int, batch: int, read: int) -> int:
    """Of one attempt at one input."""
    if not 0 < life < LIVES or not 0 < batch < BATCHES:
        raise SuiteError(
            f"batch {batch} of life {life} has no values left: a run has {LIVES - 1} lives of {BATCHES - 1} batches."
        )
    return (life * BATCHES + batch) * INPUTS + input_of(read)


def input_of(value: int) -> int:
    """What an output was made of, and the number of an input among those of its producer: the same for both."""
    return value % INPUTS


class BothLedger(Ledger):
    """Of a consumer and a producer: over when the pipeline says so, and not with the first of them that is closed."""

    def close(self) -> None:
        """Not yet."""

    def finish(self) -> None:
        super().close()


class Piping:
    def __init__(
        self, plan: PipelinePlan, config: dict[str, Any], ledger: LedgerWriter, promise: ListedValues, life: int
    ) -> None:
        self.plan, self._life, self._batch = plan, life, 0
        self._ledger = BothLedger(ledger, PayloadValues(digits), promise)
        self._config = config | {"log_level": 0}
        self._producer, self._consumer = self._writer(), self._reader()
        if plan.transactions:
            self._producer.init_transactions(PATIENCE)  # ends what an earlier life left open, before anything is read
        self._read: Counter[tuple[str, int]] = Counter()
        self._held: list[list[int]] = []
        self._holding, self.renewed = False, 0
        self.stuck: list[Any] = []  # producers in a call that does not return
        self._report_at = 0.0

    def _writer(self) -> Any:
        from interceptors import Producer

        how = {"enable.idempotence": True, "acks": "all", "linger.ms": 5, "interceptor.close.timeout.ms": 0}
        if self.plan.transactions:
            how["transactional.id"] = self.plan.identity
        return Producer(self._with(how))

    def _reader(self) -> Any:
        from interceptors import Consumer

        how = {"group.id": self.plan.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        how |= {"isolation.level": "read_committed"}
        return Consumer(self._with(how))

    def _with(self, how: dict[str, Any]) -> dict[str, Any]:
        """The ledger is one for both."""
        told = self._config | dict(self.plan.config)
        return told | how | {CLASSES: [self._ledger, *listed(told.get(CLASSES))]}

    def run(self, command: Command, report: Report) -> None:
        self._consumer.subscribe(list(self.plan.topics))
        while (order := command()) != "stop":
            self._holding = self._holding or order == "hold"
            records = self._poll()
            if records and self._piped(records, command, report) == "stop":
                break
            self._account(report)
        self._close(report)

    def status(self) -> dict[str, Any]:
        acked: dict[str, dict[str, int]] = {self.plan.target: {}}
        for (topic, partition), count in self._ledger.deliveries.acked.items():
            acked[topic][str(partition)] = count
        read: dict[str, dict[str, int]] = {topic: {} for topic in self.plan.topics}
        for (topic, partition), count in self._read.items():
            read[topic][str(partition)] = count
        errors = Counter(self._ledger.errors) + self._ledger.deliveries.errors
        known = {"holding": self._held, "batches": self._batch, "renewed": self.renewed, "stuck": len(self.stuck)}
        return {"acked": acked, "read": read, "errors": dict(errors), **known}

    # ---- one batch --------------------------------------------------------------------------------------------

    def _poll(self) -> list[Any]:
        records = []
        for message in self._consumer.consume(self.plan.batch, timeout=0.1):
            if message.error() is None:
                records.append(message)
            else:
                self._ledger.poll_failed(message)
        return records

    def _piped(self, records: list[Any], command: Command, report: Report) -> str | None:
        """Read, written and committed; or none of it, and then the same is read again."""
        self._batch += 1
        good = not self.plan.transactions or requested(self._producer.begin_transaction)
        columns = self._ledger.processed()
        self._read.update(zip(columns["topic"], columns["partition"], strict=True))
        pairs = [(value, output_value(self._life, self._batch, value)) for value in columns["value"]]
        good = good and self._written(columns["partition"], pairs) and self._offsets_sent(records)
        order = self._hold(pairs, command, report) if good and self._holding else None
        if not good or not self._committed(records):
            self._undo()
        return order

    def _written(self, partitions: list[int], pairs: list[tuple[int, int]]) -> bool:
        """Sent, and answered: an end of the transaction that is asked for earlier waits for the same, and says less."""
        before = self._ledger.deliveries.outcomes["ok"]
        for partition, (_, value) in zip(partitions, pairs, strict=True):
            with suppress(Exception):  # refused on the spot: the ledger has it
                self._producer.produce(self.plan.target, b"%016d" % value, partition=partition)
        with suppress(Exception):  # of no more use: what was sent has no answer
            self._producer.flush(PATIENCE)
        self._ledger.book.write_down()
        return self._ledger.deliveries.outcomes["ok"] - before == len(pairs)

    def _offsets_sent(self, records: list[Any]) -> bool:
        if not self.plan.transactions:
            return True
        producer, group = self._producer, self._consumer.consumer_group_metadata()
        # librdkafka 2.16 goes by no timeout here (its #5456) while the group's coordinator, as it last knew it, is gone
        # (#5511): it hangs for good, even when that broker is back.
        call = partial(producer.send_offsets_to_transaction, _next(records), group, OFFSETS_PATIENCE)
        answer = answered(partial(requested, call, attempts=1), OFFSETS_PATIENCE + 1)
        if answer is None:
            self.stuck.append(producer)
        return answer is True

    def _hold(self, pairs: list[tuple[int, int]], command: Command, report: Report) -> str | None:
        """Everything is written and nothing is committed, for as long as it takes."""
        self._ledger.book.sync()
        self._held = [list(pair) for pair in pairs]
        while (order := command()) not in ("stop", "resume"):
            self._account(report)
            time.sleep(0.02)
        self._held, self._holding = [], False
        return order

    def _committed(self, records: list[Any]) -> bool:
        self._ledger.book.sync()  # what is committed must not be known to it alone, should we be killed
        if self.plan.transactions:
            return requested(self._producer.commit_transaction, PATIENCE)
        return self._group_committed(_next(records))

    def _group_committed(self, offsets: list[Any]) -> bool:
        from confluent_kafka import KafkaError

        gone = {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.FENCED_INSTANCE_ID}
        deadline = time.monotonic() + COMMIT_AGAIN
        while time.monotonic() < deadline:
            offsets, codes = self._refused(offsets)
            if not offsets or codes & gone:
                return not offsets
            time.sleep(0.1)
        return False

    def _refused(self, offsets: list[Any]) -> tuple[list[Any], set[int]]:
        """Those that the group did not take, and the errors: of all together, or of single partitions."""
        from confluent_kafka import KafkaException

        try:
            refused = [where for where in self._consumer.commit(offsets=offsets, asynchronous=False) if where.error]
        except KafkaException as trouble:
            return offsets, {kafka_error(trouble).code()}
        return refused, {where.error.code() for where in refused}

    # ---- once more --------------------------------------------------------------------------------------------

    def _undo(self) -> None:
        """Abort, and go back to where the group stands."""
        if self.plan.transactions:
            self._renew()
        self._rewind()

    def _renew(self) -> None:
        """Another producer of the same id, as an application that starts again would have: it ends what is still open."""
        if self._producer not in self.stuck:  # such a one lets nobody close it, and is fenced by the next
            requested(self._producer.abort_transaction, OFFSETS_PATIENCE, attempts=1)
            with suppress(Exception):  # of no more use, and closed all the same
                self._producer.close()
        self._producer = self._writer()
        self._producer.init_transactions(PATIENCE)
        self.renewed += 1

    def _rewind(self) -> None:
        """All of it or none: of a partition that stayed ahead inputs would be skipped, and Kafka be blamed for it."""
        deadline, back = time.monotonic() + PATIENCE, set[tuple[str, int]]()
        # Asked anew each time: what is no longer ours begins at what is committed, for whoever has it.
        while ahead := [where for where in self._consumer.assignment() if _place(where) not in back]:
            if time.monotonic() >= deadline:
                names = ", ".join(f"{where.topic}-{where.partition}" for where in ahead)
                raise SuiteError(
                    f"{names} could not be set back within {PATIENCE:g} s to what group {self.plan.group} has committed, "
                    "and inputs would be skipped: see whether the group's coordinator answers."
                )
            back |= (done := self._set_back(ahead))
            if len(done) < len(ahead):
                time.sleep(0.1)

    def _set_back(self, ahead: list[Any]) -> set[tuple[str, int]]:
        """Those that are. One whose offset came with an error is not: it would begin at 0, and everything come twice."""
        from confluent_kafka import KafkaException, TopicPartition

        done = set()
        with suppress(KafkaException):  # no coordinator, or one that still loads
            for where in self._consumer.committed(ahead, timeout=OFFSETS_PATIENCE):
                with suppress(KafkaException):  # just assigned, or just taken away
                    if where.error is None:
                        self._consumer.seek(TopicPartition(*_place(where), max(where.offset, 0)))
                        done.add(_place(where))
        return done

    # ---- keeping account --------------------------------------------------------------------------------------

    def _account(self, report: Report) -> None:
        self._ledger.book.write_down()
        if time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + REPORT_EVERY
            report(self.status())

    def _close(self, report: Report) -> None:
        """Partitions are given back in the closing, and the ledger should hear it."""
        self._consumer.close()
        with suppress(Exception):  # of no more use, and closed all the same
            self._producer.close()
        self._ledger.finish()
        report(self.status())


def _place(where: Any) -> tuple[str, int]:
    return where.topic, where.partition


def _next(records: list[Any]) -> list[Any]:
    from confluent_kafka import TopicPartition

    ends = {(message.topic(), message.partition()): message.offset() + 1 for message in records}  # the last one stays
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in sorted(ends.items())]
