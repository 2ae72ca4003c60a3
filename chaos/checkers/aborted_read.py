"""Did a committed reader see a record that was certainly not to be seen: aborted, or refused when it was sent?"""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.tables import first_rows
from chaos.evidence.columns import Bools
from chaos.evidence.history import History
from kernel import findings
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
        yield findings.aborted_read(witness(history, reads, read_by[value]), witness(history, sends, sent_by[value]))
