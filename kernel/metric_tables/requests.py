"""How requests fare: the threads that serve them, the queues between, and the time each phase takes."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge, own, summary
from kernel.metrics import BROKER, CONTROLLER, EVERY_ROLE, Kind, Metric, Scope

_POOL = "kafka.server:type=KafkaRequestHandlerPool,name="
_TIMING = "kafka.network:type=RequestMetrics,name={0}TimeMs,request={{request}}"
_NODE: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.NODE}
TIMED = ("Produce", "FetchConsumer", "FetchFollower")

# Phase → what happens in it. Kafka registers 93 requests times 8 timers: three requests are worth their series.
_PHASES = {
    "Total": "from the first byte of a request to the last byte of its answer",
    "RequestQueue": "waiting for a request handler",
    "Local": "at work on this broker",
    "Remote": "waiting for others: followers (acks=all), or data to come (a fetch's long poll, which is no fault)",
    "ResponseQueue": "their answer waiting for a network thread",
    "ResponseSend": "their answer on its way out",
    "Throttle": "held back by a quota",
}


def _idle(bean: str, who: str, **more: object) -> Metric:
    return counter(
        _POOL + bean,
        f"Time {who} have been idle, as a share of all of them: its rate() is their idle ratio, 0 to 1.",
        name="kafka_server_kafkarequesthandlerpool_" + bean.removesuffix("Percent").lower() + "_seconds_total",
        unit="seconds",
        factor=1e-9,
        note="Kafka counts nanoseconds in a meter that is called a percentage.",
        **(_NODE | more),
    )


ROWS = (
    _idle(
        "RequestHandlerAvgIdlePercent",
        "the request handlers",
        star=True,
    ),
    own(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_ratio",
        Kind.GAUGE,
        "How idle the request handlers were between the last two collections, 0 to 1; below 0.3 they are too few.",
        unit="ratio",
        star=True,
        note="Computed by the exporter from the count of nanoseconds. A combined node before Kafka 4.2 adds the broker's "
        "pool to the controller's and counts up to 2 (KAFKA-19606); halved here.",
        **_NODE,
    ),
    gauge(
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "How idle the network threads are, 0 to 1 (not per cent); below 0.3 they are too few.",
        star=True,
        unit="ratio",
        **_NODE,
    ),
    *(
        summary(
            _TIMING.format(phase),
            f"Time of requests, {meaning}.",
            star=True,
            unit="ms",
            only={"request": TIMED},
            note="Quantiles freeze when traffic stops: show them only while the count rises.",
            **_NODE,
        )
        for phase, meaning in _PHASES.items()
    ),
    _idle("BrokerRequestHandlerAvgIdlePercent", "the broker's request handlers", since="4.2", roles=frozenset({BROKER})),
    _idle(
        "ControllerRequestHandlerAvgIdlePercent",
        "the controller's request handlers",
        since="4.2",
        roles=frozenset({CONTROLLER}),
    ),
    counter(
        "kafka.network:type=RequestMetrics,name=RequestsPerSec,request={request},version={version}",
        "Requests served.",
        only={"request": TIMED},
        appears="with the first request of its kind and version",
        **_NODE,
    ),
    counter(
        "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request={request},error={error}",
        'Answers by error; error="NONE" is success.',
        appears="with the first answer of its kind",
        note="The best sign of trouble a broker gives: everything with error other than NONE.",
        **_NODE,
    ),
    gauge(
        "kafka.network:type=RequestChannel,name=RequestQueueSize",
        "Requests waiting for a handler; full at queued.max.requests (500).",
        **_NODE,
    ),
    gauge("kafka.network:type=RequestChannel,name=ResponseQueueSize", "Answers waiting for a network thread.", **_NODE),
    gauge(
        "kafka.network:type=SocketServer,name=MemoryPoolUsed", "Memory held by requests in flight.", unit="bytes", **_NODE
    ),
    gauge(
        "kafka.network:type=SocketServer,name=MemoryPoolAvailable",
        "Memory left for requests, when queued.max.request.bytes sets a limit.",
        unit="bytes",
        sentinels=(float(2**63 - 1),),
        **_NODE,
    ),
    counter(
        "kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount",
        "Connections closed because their login had expired.",
        "Value",
        **_NODE,
    ),
    counter(
        "kafka.network:type=Acceptor,name=AcceptorBlockedPercent,listener={listener}",
        "Time the acceptor was blocked because every network thread was full.",
        name="kafka_network_acceptor_acceptorblocked_seconds_total",
        unit="seconds",
        factor=1e-9,
        **_NODE,
    ),
    gauge(
        "kafka.network:type=Processor,name=IdlePercent,networkProcessor={network_processor}",
        "How idle one network thread is, 0 to 1.",
        unit="ratio",
        everyday=False,
        **_NODE,
    ),
    gauge(
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation={delayed_operation}",
        "Requests that wait for something to happen; growing for Produce, the followers are slow.",
        **_NODE,
    ),
)
