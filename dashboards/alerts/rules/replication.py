"""Whether the next fault would hurt. These wait for the morning."""

from dashboards.alerts.alert import Alert, Rise
from dashboards.alerts.healthy import MANAGER, named

BEHIND = f"{MANAGER}underreplicatedpartitions"
SHRINKS = f"{MANAGER}isrshrinks_total"

RULES = (
    Alert(
        name="KafkaUnderReplicated",
        # Longer than a broker is away in a rolling restart, and catches up after it: between two brokers it begins anew.
        expression=f"sum by (cluster) (max by (cluster, node) ({BEHIND})) > 0",
        hold="10m",
        severity="warning",
        summary="{{ $value }} partitions of {{ $labels.cluster }} have had replicas out of sync for ten minutes.",
        description="A broker is gone or does not keep up; the next fault may take partitions offline.",
        broken={named(BEHIND, node="1"): 12},
        labels={"cluster": "c"},
        fires="615s",
        clears="15s",
    ),
    Alert(
        name="KafkaIsrFlapping",
        # Minutes with a shrink, not shrinks: a restart shrinks a thousand partitions at once, and then it is over.
        expression=f"sum_over_time((sum by (cluster) (increase({SHRINKS}[1m])) > bool 0)[30m:1m]) >= 10",
        hold="0s",
        severity="warning",
        summary="Replicas of {{ $labels.cluster }} fell out of the ISR in {{ $value }} of the last thirty minutes.",
        description="A follower again and again fails to keep up: a slow disk, a bad link, long pauses of its JVM.",
        broken={named(SHRINKS, node="1"): Rise(1)},
        labels={"cluster": "c"},
        fires="11m",
        clears="22m",
    ),
)
