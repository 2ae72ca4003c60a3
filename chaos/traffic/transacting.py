"""Calls of the transactional API: repeated where librdkafka leaves that to whoever called."""

import queue
import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0  # seconds for one call
ATTEMPTS = 5


def requested(call: Callable[..., Any], *given: Any, attempts: int = ATTEMPTS) -> bool:
    """Whether it was granted, after as many attempts as make sense. The ledger hears of each."""
    from confluent_kafka import KafkaException

    for _ in range(attempts):
        try:
            call(*given)
            return True
        except (KafkaException, SystemError) as trouble:
            if not kafka_error(trouble).retriable():
                break
    return False


def answered(call: Callable[[], bool], seconds: float) -> bool | None:
    """The answer of a call that may never return; None if it has not by then."""
    answer: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=lambda: answer.put(call()), daemon=True).start()
    try:
        return answer.get(timeout=seconds)
    except queue.Empty:
        return None


def kafka_error(trouble: Exception) -> Any:
    """What librdkafka said. A delivery report in the same breath as the error that is for good is interrupted by it, and
    what Python then raises is a SystemError with the other as its cause."""
    cause = trouble.__cause__ if isinstance(trouble, SystemError) else trouble
    if cause is None or not cause.args or not hasattr(cause.args[0], "retriable"):
        raise trouble
    return cause.args[0]
