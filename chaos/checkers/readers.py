"""What each reader went through: its reads in order, cut into assignments, and the offsets it committed.

An assignment is the stretch between rows that give or take a partition. Inside one, a reader owes an account of every
record; across two, somebody else may have been at work.
"""

from dataclasses import dataclass, replace

import numpy as np

from chaos.checkers.in_order import Order, group_of, in_order
from chaos.evidence.columns import Bools, Ints
from chaos.evidence.history import OFFSETS, History
from chaos.evidence.keys import order_keys


@dataclass(frozen=True, slots=True)
class Readers:
    order: Order  # of the reads; `fresh` where one begins an assignment
    offset: Ints  # of the reads, in order
    commits: Ints  # rows of `turns` that committed offsets
    rests_on: Ints  # for each: the place of the last read before it in its assignment, -1 if there is none

    def steps_back(self) -> Ints:
        """Places of reads that did not go forward."""
        return self.order.neighbours_where(lambda before, here: here <= before, self.offset)

    def leaps(self) -> Ints:
        """Places of reads that went forward by more than one offset."""
        return self.order.neighbours_where(lambda before, here: here - before > 1, self.offset)


def readers(history: History) -> Readers:
    reads, turns = history.reads, history.turns
    of_reads, of_turns = (group_of(history, rows.client, rows.partition) for rows in (reads, turns))
    keys, turn_keys = order_keys([(of_reads, reads.op, reads.ix), (of_turns, turns.op, turns.ix)])
    order = in_order(of_reads, keys)
    sequence = np.argsort(turn_keys, kind="stable")
    before = np.searchsorted(order.column(keys), turn_keys[sequence])  # so many reads come before each turn
    marks = turns.kind[sequence] != OFFSETS
    commits = sequence[~marks]
    rests_on = _last_reads(marks, before, of_turns[sequence])
    elsewhere = rests_on >= 0
    elsewhere[elsewhere] = of_reads[order.row(rests_on[elsewhere])] != of_turns[commits[elsewhere]]
    rests_on[elsewhere] = -1
    return Readers(_cut(order, before[marks]), order.column(reads.offset), commits, rests_on)


def _cut(order: Order, begun: Ints) -> Order:
    """Each mark begins a new assignment with the next read."""
    fresh = order.fresh.copy()
    fresh[begun[begun < fresh.size]] = True
    return replace(order, fresh=fresh)


def _last_reads(marks: Bools, before: Ints, group: Ints) -> Ints:
    """For each commit the read just before it, or -1 if a mark for the same reader and partition came in between."""
    commits = np.flatnonzero(~marks)
    if not commits.size:
        return commits
    last_mark = np.maximum.accumulate(np.where(marks, np.arange(marks.size), -1))[commits]
    cut = (last_mark >= 0) & (group[last_mark] == group[commits]) & (before[last_mark] == before[commits])
    return np.where(cut, -1, before[commits] - 1)
