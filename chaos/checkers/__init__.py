"""The anomalies, each in a file of its own: a pure function from a history to what was found in it.

To add one: a file, a line here, a name in `kernel/verdict.py`, a pair of tests, a mutator.
"""

from collections.abc import Callable

from chaos.checkers.aborted_read import aborted_read
from chaos.checkers.commit_ahead import commit_ahead
from chaos.checkers.duplicate import duplicate
from chaos.checkers.facts import Facts
from chaos.checkers.found import Found
from chaos.checkers.inconsistent_offsets import inconsistent_offsets
from chaos.checkers.lost_write import lost_write
from chaos.checkers.nonmonotonic_poll import nonmonotonic_poll
from chaos.checkers.nonmonotonic_send import nonmonotonic_send
from chaos.checkers.phantom_read import phantom_read
from chaos.checkers.poll_skip import poll_skip
from chaos.checkers.precommitted_read import precommitted_read
from chaos.checkers.torn_transaction import torn_transaction
from chaos.checkers.unseen_write import unseen_write
from chaos.checkers.write_read_cycle import write_read_cycle
from chaos.evidence.history import History

Checker = Callable[[History, Facts], Found]

CHECKERS: dict[str, Checker] = {
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
