"""Whether what is written is also read, and in time."""

from dashboards.alerts.alert import Alert
from dashboards.alerts.healthy import named

FAILING = 'kafka_lag_group_status{status=~"STALLED|STOPPED|STUCK_TRANSACTION|TOPIC_RECREATED|DATA_LOSS"}'
WORRYING = 'kafka_lag_group_status{status=~"SLOW|REWOUND|NEVER_COMMITTED"}'
LATE = "max by (cluster, group) (kafka_lag_group_seconds) > max by (cluster, group) (kafka_lag_group_slo_seconds)"
MISSING = 'kafka_audit_records{outcome="missing"}'
READER = {"cluster": "c", "group": "reader"}

RULES = (
    Alert(
        name="KafkaConsumerGroupFailing",
        # Whichever of these it is: a group that stalls and then stops is not two troubles.
        expression=f"max by (cluster, group) ({FAILING}) == 1",
        hold="2m",
        severity="critical",
        summary="Group {{ $labels.group }} of {{ $labels.cluster }} no longer gets on, or lost records.",
        description="It stalled, stopped, waits for an open transaction, or lost its place. The lag monitor says why.",
        broken={
            named("kafka_lag_group_status", group="reader", status="OK"): 0,
            named("kafka_lag_group_status", group="reader", status="STALLED"): 1,
            named("kafka_lag_group_gravity", group="reader"): 3,
        },
        labels=READER,
        fires="135s",
        clears="15s",
    ),
    Alert(
        name="KafkaConsumerGroupSlow",
        expression=f"max by (cluster, group) ({WORRYING}) == 1",
        hold="5m",
        severity="warning",
        summary="Group {{ $labels.group }} of {{ $labels.cluster }} falls behind, or went back.",
        description="It reads more slowly than is written, was rewound, or has never committed. The lag monitor says which.",
        broken={
            named("kafka_lag_group_status", group="reader", status="OK"): 0,
            named("kafka_lag_group_status", group="reader", status="SLOW"): 1,
            named("kafka_lag_group_gravity", group="reader"): 2,
        },
        labels=READER,
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaConsumerGroupBehindSlo",
        expression=LATE,
        hold="2m",
        severity="warning",
        summary="Group {{ $labels.group }} of {{ $labels.cluster }} is {{ $value }} s behind, more than was promised.",
        description="The oldest record that it has not read is older than its SLO allows.",
        broken={named("kafka_lag_group_seconds", group="reader"): 90},
        labels=READER,
        fires="135s",
        clears="15s",
    ),
    Alert(
        name="KafkaAuditMissing",
        expression=f"sum by (cluster, topic, tier) (max by (cluster, topic, source, tier) ({MISSING})) > 0",
        hold="5m",
        severity="critical",
        summary="{{ $value }} records of {{ $labels.topic }} in {{ $labels.cluster }} never came to {{ $labels.tier }}.",
        description="They were acknowledged and counted, and not counted where they should have come to.",
        broken={named("kafka_audit_records", topic="t", source="a", tier="b", outcome="missing"): 8},
        labels={"cluster": "c", "topic": "t", "tier": "b"},
        fires="5m15s",
        clears="15s",
    ),
)
