"""What an error of librdkafka means for a record: ok, fail or info. The one table that all judgement rests on.

*fail* is only for errors after which the record is certainly not in the log, whatever was tried before. librdkafka
retries by itself, so the error it reports in the end says nothing of the attempts before; hence *info* is the rule and
*fail* the exception that needs a reason.
"""

from kernel.ledger import Outcome

# Error names as KafkaError.name() gives them, each with the reason why it can only mean "not in the log".
CERTAIN: dict[str, str] = {
    "_QUEUE_FULL": "refused by the client's own queue, never sent",
    "_INVALID_ARG": "refused by the client before it was sent",
    "_STATE": "refused by the client: not allowed in its present state",
    "_BAD_COMPRESSION": "could not be compressed, never sent",
    "_KEY_SERIALIZATION": "could not be serialised, never sent",
    "_VALUE_SERIALIZATION": "could not be serialised, never sent",
    "MSG_SIZE_TOO_LARGE": "every broker refuses this size, every time",
    "RECORD_LIST_TOO_LARGE": "every broker refuses this size, every time",
    "TOPIC_AUTHORIZATION_FAILED": "refused before the log is touched",
    "CLUSTER_AUTHORIZATION_FAILED": "refused before the log is touched",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "refused before the log is touched",
    "INVALID_REQUIRED_ACKS": "refused before the log is touched",
    "INVALID_RECORD": "every broker refuses this record, every time",
    "INVALID_TIMESTAMP": "every broker refuses this record, every time",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "every broker refuses this record, every time",
    "UNSUPPORTED_COMPRESSION_TYPE": "every broker refuses this record, every time",
    "TOPIC_EXCEPTION": "no broker keeps a topic of that name",
}

# The errors people expect to be a failure and that are none. Not needed by the code (info is the rule); kept, and tested,
# because each of them has once been taken for a loss or a phantom by some test suite.
UNKNOWN: dict[str, str] = {
    "_MSG_TIMED_OUT": "an attempt may have been appended and its answer lost",
    "_TIMED_OUT": "the answer did not come; the request may have been served",
    "_TRANSPORT": "the connection broke; the request may have been served",
    "_ALL_BROKERS_DOWN": "as above, for every connection",
    "_PURGE_QUEUE": "taken out of the client's queue, where it may have waited for another attempt",
    "_UNKNOWN_TOPIC": "a broker with old metadata can make the client forget a topic between two attempts",
    "_UNKNOWN_PARTITION": "as above, for a partition",
    "_PURGE_INFLIGHT": "sent, then given up before the answer came",
    "_FATAL": "the producer gave up; what it had sent before stands",
    "_DESTROY": "the producer was closed; what it had sent before stands",
    "REQUEST_TIMED_OUT": "the leader has appended it and waits for followers in vain",
    "NETWORK_EXCEPTION": "the broker lost the connection while it worked on it",
    "UNKNOWN": "the broker failed in a way it could not name",
    "NOT_LEADER_FOR_PARTITION": "can follow an append by a leader that was then deposed (KAFKA-13574)",
    "LEADER_NOT_AVAILABLE": "said of the last attempt alone",
    "NOT_ENOUGH_REPLICAS": "said of the last attempt alone",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "it is in the leader's log",
    "KAFKA_STORAGE_ERROR": "the append failed part of the way",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "can follow a record that was persisted and not acknowledged (librdkafka#4438)",
    "UNKNOWN_PRODUCER_ID": "the broker forgot the producer; an earlier attempt may stand",
    "INVALID_PRODUCER_EPOCH": "said of the last attempt alone",
    "PRODUCER_FENCED": "said of the last attempt alone",
    "_FENCED": "said of the last attempt alone",
    "_GAPLESS_GUARANTEE": "an earlier record is in doubt, and with it those after it",
    "_CLIENT_KILLED": "our own word: the producer was killed before it learnt",
}


def outcome_of_send(error: str | None) -> Outcome:
    if error is None:
        return Outcome.OK
    return Outcome.FAIL if error in CERTAIN else Outcome.INFO


def outcome_of_commit(error: str | None, *, must_abort: bool) -> Outcome:
    """`must_abort`: the coordinator refused this transaction and only an abort is left, so it did not commit."""
    if error is None:
        return Outcome.OK
    return Outcome.FAIL if must_abort else Outcome.INFO


def outcome_of_request(error: str | None) -> Outcome:
    """A group's commit, an abort: asked for and refused, or asked for and never answered; both leave it open."""
    return Outcome.OK if error is None else Outcome.INFO
