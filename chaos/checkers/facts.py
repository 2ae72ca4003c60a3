"""What several checkers need to know, worked out once: fates, seats, drained ends, assignments."""

from functools import cached_property

import numpy as np

from chaos.checkers.fates import send_fates, transaction_fates
from chaos.checkers.missing import Missing, missing
from chaos.checkers.places import Places, places
from chaos.checkers.readers import Readers, readers
from chaos.checkers.seats import Clashes, certain_before, clashes
from chaos.checkers.tables import table_of
from chaos.evidence.clients import Clients
from chaos.evidence.columns import Bools, Ints, blocks
from chaos.evidence.history import FAIL, INFO, OK, History


class Facts:
    def __init__(self, history: History, clients: Clients) -> None:
        self._history = history
        self.committed_reader: Bools = np.array([clients.reads_committed(c) for c in history.clients], dtype=bool)
        self.ordered: Bools = np.array([clients.ordered(c) for c in history.clients], dtype=bool)

    # ---- of transactions and sends ----------------------------------------------------------------------------

    @cached_property
    def transaction_fate(self) -> Ints:
        return transaction_fates(self._history)

    @cached_property
    def fate(self) -> Ints:
        """Of each send."""
        return send_fates(self._history, self.transaction_fate)

    # ---- of values: sent once per run. If one was sent twice all the same, its best fate is its fate. -----------

    @cached_property
    def sent(self) -> Bools:
        sends = self._history.sends
        return table_of(self._history.values.size, len(sends), lambda block: sends.value[block])

    @cached_property
    def ok(self) -> Bools:
        return self._sent_with(OK)

    @cached_property
    def failed(self) -> Bools:
        return self.sent & ~self.ok & ~self._sent_with(INFO)

    @cached_property
    def read(self) -> Bools:
        reads = self._history.reads
        return table_of(self._history.values.size, len(reads), lambda block: reads.value[block])

    @cached_property
    def seen(self) -> Bools:
        """Read by a committed reader."""
        if self.committed_reader.all():
            return self.read
        reads = self._history.reads

        def by_committed_readers(block: slice) -> Ints:
            return reads.value[block][self.committed_reader[reads.client[block]]]

        return table_of(self._history.values.size, len(reads), by_committed_readers)

    def _sent_with(self, fate: int) -> Bools:
        sends = self._history.sends
        return table_of(self._history.values.size, len(sends), lambda block: sends.value[block][self.fate[block] == fate])

    # ---- of the log -------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> Places:
        return places(self._history)

    @cached_property
    def clashes(self) -> Clashes:
        return clashes(self._history, self.places)

    @cached_property
    def certain_before(self) -> Ints:
        return certain_before(self._history, self.places, self.ok | self.seen)

    def certain_between(self, after: Ints, before: Ints) -> Ints:
        """How many records that must be there lie strictly between two places."""
        between: Ints = self.certain_before[before] - self.certain_before[after + 1]
        return between

    @cached_property
    def drained_end(self) -> Ints:
        """By partition; -1 where the closing reader never stood at the end."""
        ends = np.full(len(self._history.partitions), -1, dtype=np.int64)
        np.maximum.at(ends, self._history.drains.partition, self._history.drains.offset.astype(np.int64))
        return ends

    @cached_property
    def written(self) -> Bools:
        """By partition: a send that is not itself fail names it."""
        sends, written = self._history.sends, np.zeros(len(self._history.partitions), dtype=bool)
        for block in blocks(len(sends)):
            partition = sends.partition[block]
            written[partition[(partition >= 0) & (sends.outcome[block] != FAIL)]] = True
        return written

    @cached_property
    def missing(self) -> Missing:
        return missing(self._history, drained_end=self.drained_end, fate=self.fate, read=self.read)

    # ---- of readers -------------------------------------------------------------------------------------------

    @cached_property
    def readers(self) -> Readers:
        return readers(self._history)
