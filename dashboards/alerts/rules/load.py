"""Whether brokers keep up with what is asked of them."""

from dashboards.alerts.alert import Alert, Rise
from dashboards.alerts.healthy import IDLE, PRODUCE, UP, named

ALIVE = f"max by (cluster, node) ({UP}) == 1"
SUM, COUNT = (f'max by (cluster, node) (rate({PRODUCE}_{part}{{request="Produce"}}[3m]))' for part in ("sum", "count"))
SLOW = f'max by (cluster, node) ({PRODUCE}{{request="Produce", quantile="0.99"}}) > 1000'  # milliseconds

RULES = (
    Alert(
        name="KafkaRequestHandlersBusy",
        # An average of what was seen: a rate over a window in which the node was not there the whole time is too low.
        expression=f"max by (cluster, node) (avg_over_time({IDLE}[5m])) < 0.2 and on (cluster, node) ({ALIVE})",
        hold="2m",
        severity="warning",
        summary="Request handlers of node {{ $labels.node }} of {{ $labels.cluster }} are busy four fifths of the time.",
        description="Requests wait for a thread; what clients see is latency on everything.",
        broken={named(IDLE, node="1"): 0.1},
        labels={"cluster": "c", "node": "1"},
        fires="7m15s",
        clears="5m",
    ),
    Alert(
        name="KafkaProduceSlow",
        # Kafka's percentiles forget slowly, and not at all when traffic stops: the few requests that waited for an election
        # would be an alert for minutes. So what came in of late must be slow on the whole, too.
        expression=f"{SLOW} and on (cluster, node) ({SUM} / {COUNT} > 200)",
        hold="2m",
        severity="warning",
        summary="One in a hundred produce requests to node {{ $labels.node }} of {{ $labels.cluster }} takes over a second.",
        description="The dashboard of brokers shows in which phase the time goes.",
        broken={
            named(PRODUCE, node="2", request="Produce", quantile="0.99"): 2500,
            named(f"{PRODUCE}_sum", node="2", request="Produce"): Rise(100 * 900),
        },
        labels={"cluster": "c", "node": "2"},
        fires="3m",
        clears="15s",
    ),
)
