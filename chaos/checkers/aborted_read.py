"""Did a committed reader see a record that was certainly not to be seen: aborted, or refused when it was sent?"""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, at_row, told, where, who
from chaos.checkers.tables import first_rows
from chaos.evidence.columns import Bools
from chaos.evidence.history import History
from kernel.verdict import MOST_FINDINGS, Finding


def aborted_read(history: History, facts: Facts) -> Found:
    values = np.flatnonzero(facts.failed & facts.seen)
    return told(values.size, _findings(history, facts, values[:MOST_FINDINGS].tolist())) if values.size else NOTHING


def _findings(history: History, facts: Facts, values: list[int]) -> Iterator[Finding]:
    reads, sends = history.reads, history.sends

    def committed(block: slice) -> Bools:
        return facts.committed_reader[reads.client[block]]

    size, shown = history.values.size, np.array(values, dtype=np.int64)
    read_by, sent_by = first_rows(reads.value, size, shown, committed), first_rows(sends.value, size, shown)
    for value in values:
        row, sent = read_by[value], sent_by[value]
        txn = int(sends.txn[sent])
        why = f"in transaction {history.txns[txn]}, which was aborted" if txn >= 0 else "and was told that it failed"
        sentence = (
            f"{who(history, reads, row)} read value {history.values.value(value)} at "
            f"{where(history, int(reads.partition[row]), int(reads.offset[row]))}; "
            f"{who(history, sends, sent)} sent it {why}."
        )
        yield at_row("aborted-read", history, reads, row, sentence)
