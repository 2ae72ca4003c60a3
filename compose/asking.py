"""One question to a cluster through kafka-python, which speaks the administrative calls that librdkafka lacks.

Unlike a view, which asks for what is and takes silence for an answer, this is for what is to be done: whoever asks hears
why it was refused.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from compose.view import PATIENCE_MS, admin_client
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady

T = TypeVar("T")
ATTEMPTS = 5  # a broker that is named as the way to the controllers may be the one that was just killed


def ask(address: ClusterAddress, question: Callable[[Any], T], *, broker: int | None = None) -> T:
    """Kafka's refusals come out as they are; a lost connection is tried again, because all of these may be repeated.
    `broker`: the one to ask, where it is not the same which; else whoever is at hand."""
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError

    trouble: Exception = NotReady("")
    for _ in range(ATTEMPTS):
        admin = None
        try:
            admin = _connected(address)
            if broker is not None:
                admin._manager.least_loaded_node = lambda: broker  # it would ask any broker that it learns of
            return question(admin)
        except (KafkaConnectionError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError, OSError) as error:
            trouble = error
            time.sleep(0.2)
        finally:
            if admin is not None:
                with suppress(Exception):  # it is being thrown away; how it dies does not matter
                    admin.close()
    raise NotReady(f"no broker at {address.bootstrap} answered: {trouble}.", address=address.bootstrap) from trouble


def send(admin: Any, request: Any) -> Any:
    """A request that kafka-python has a class for and no method; any broker passes it on to whoever decides."""
    return admin._manager.run(admin._manager.send, request)


def unregister(address: ClusterAddress, broker: int) -> str | None:
    """Have the controllers forget a broker that is down. Returns the error's name, if any."""
    answer = ask(address, lambda admin: send(admin, _unregister_request()(broker_id=broker)))
    return error_name(answer.error_code)


def error_name(code: int) -> str | None:
    from kafka.errors import for_code

    return None if code == 0 else str(for_code(code).message)


@cache
def _unregister_request() -> Any:
    """UnregisterBroker (KIP-631), which kafka-python knows by number only. Its shape is in compose/schemas."""
    from kafka.protocol.api_message import ApiMessage

    class UnregisterBrokerRequest(ApiMessage, load_json="compose.schemas"):  # type: ignore[call-arg, misc]
        pass

    class UnregisterBrokerResponse(ApiMessage, load_json="compose.schemas"):  # type: ignore[call-arg, misc]
        pass

    # kafka-python keeps a weak hold on the class of an answer; this one must outlive the call.
    UnregisterBrokerRequest.answer = UnregisterBrokerResponse
    return UnregisterBrokerRequest


def _connected(address: ClusterAddress) -> Any:
    return admin_client()(
        **address.kafka_python(),
        request_timeout_ms=4 * PATIENCE_MS,
        bootstrap_timeout_ms=PATIENCE_MS,
        reconnect_backoff_max_ms=200,
        client_id="kafka-trial-operator",
    )
