"""For each anomaly an edit of a clean history after which exactly that anomaly must be found, and so many times.

A checker that cannot fail proves nothing. `python -m chaos.mutators RUN` shows on any clean run folder that all can.
"""

from collections.abc import Callable

from chaos.mutators.reads import aborted_read, commit_ahead, nonmonotonic_poll, phantom_read, poll_skip
from chaos.mutators.recording import Mutated, Recording
from chaos.mutators.transactions import precommitted_read, torn_transaction, write_read_cycle
from chaos.mutators.writes import duplicate, inconsistent_offsets, lost_write, nonmonotonic_send, unseen_write

Mutator = Callable[[Recording], Mutated]

MUTATORS: dict[str, Mutator] = {
    "inconsistent-offsets": inconsistent_offsets,
    "duplicate": duplicate,
    "lost-write": lost_write,
    "unseen-write": unseen_write,
    "aborted-read": aborted_read,
    "phantom-read": phantom_read,
    "nonmonotonic-poll": nonmonotonic_poll,
    "poll-skip": poll_skip,
    "nonmonotonic-send": nonmonotonic_send,
    "torn-transaction": torn_transaction,
    "precommitted-read": precommitted_read,
    "write-read-cycle": write_read_cycle,
    "commit-ahead": commit_ahead,
}
