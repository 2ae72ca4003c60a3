"""The ledger: one row for every small operation of every client. Clients write it, checkers judge it, Spark sums it.

Everything rests on the three-way outcome. A send that timed out is *info*: it may be in the log. Calling it *fail* would
turn a late record into a phantom, calling it *ok* would turn an honest error into a loss.
"""

from enum import StrEnum

# Name and type of each column, in order; i64, i32, str, bool. Null where unknown.
COLUMNS: dict[str, str] = {
    "run_id": "str",
    "client": "str",  # a new name after every crash or re-creation
    "op": "i64",  # order of operations in the client
    "ix": "i32",  # position inside one operation: a poll returns many rows of one op
    "kind": "str",
    "invoked_ns": "i64",  # one monotonic clock for the run
    "completed_ns": "i64",
    "outcome": "str",
    "error": "str",
    "txn": "str",  # unique per transaction, not per transactional.id
    "topic": "str",
    "partition": "i32",
    "offset": "i64",
    "epoch": "i32",  # leader epoch
    "value": "i64",  # sent once per run
    "final": "bool",  # part of the closing drain
}


class Outcome(StrEnum):
    OK = "ok"  # acknowledged
    FAIL = "fail"  # certainly not applied
    INFO = "info"  # unknown


class Kind(StrEnum):
    SEND = "send"
    POLL = "poll"
    BEGIN = "begin"
    COMMIT = "commit"
    ABORT = "abort"
    OFFSETS = "offsets"  # a group's commit: `offset` is the committed position
    ASSIGN = "assign"
    REVOKE = "revoke"
    LOST = "lost"
    CRASH = "crash"
    DRAINED = "drained"  # the closing reader stood at the log end `offset`
