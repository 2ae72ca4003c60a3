"""Was a record read that nobody sent?"""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.tables import first_rows
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def phantom_read(history: History, facts: Facts) -> Found:
    values = np.flatnonzero(facts.read & ~facts.sent)
    return told(values.size, _findings(history, values[:MOST_FINDINGS].tolist())) if values.size else NOTHING


def _findings(history: History, values: list[int]) -> Iterator[Finding]:
    reads = history.reads
    read_by = first_rows(reads.value, history.values.size, np.array(values, dtype=np.int64))
    for value in values:
        yield findings.phantom_read(witness(history, reads, read_by[value]))
