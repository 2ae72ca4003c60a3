"""Whether Kafka can be written to and read from at all. These wake people."""

from dashboards.alerts.alert import Alert, Event, Rise
from dashboards.alerts.healthy import ACTIVE, COMMITTED, CONTROLLER, HEARTBEAT, MANAGER, NODES, STATS, UP, named

OFFLINE = f"{CONTROLLER}offlinepartitionscount"
FENCED = f"{CONTROLLER}fencedbrokercount"
UNCLEAN = f"{STATS}uncleanleaderelections_total"
UNDER_MIN = f"{MANAGER}underminisrpartitioncount"
SILENT = f"max by (cluster, broker) ({HEARTBEAT}) > 5000"  # milliseconds: a living broker is heard of every 2,000
CONTROLLERS = f"sum by (cluster) (max by (cluster, node) ({ACTIVE}))"
# An active controller writes to the metadata log twice a second, if only that nothing has changed, and every node sees how
# far it is committed. So one that the exporter cannot read is known to be there by the others.
AT_WORK = f"max by (cluster) (changes({COMMITTED}[1m])) > 0"

RULES = (
    Alert(
        name="KafkaOfflinePartitions",
        # Every controller tells of all partitions: the greatest, not the sum.
        expression=f"max by (cluster) ({OFFLINE}) > 0",
        hold="30s",
        severity="critical",
        summary="{{ $value }} partitions of {{ $labels.cluster }} have no leader: nobody can write to or read from them.",
        description="Every replica that may lead is gone, or the controller cannot elect one.",
        broken={named(OFFLINE, node=node): 3 for node in NODES},
        labels={"cluster": "c"},
        fires="45s",
        clears="15s",
    ),
    Alert(
        name="KafkaUnderMinIsr",
        expression=f"sum by (cluster) (max by (cluster, node) ({UNDER_MIN})) > 0",
        hold="1m",
        severity="critical",
        summary="{{ $value }} partitions of {{ $labels.cluster }} refuse writes with acks=all.",
        description="They have fewer replicas in sync than min.insync.replicas asks for.",
        broken={named(UNDER_MIN, node="2"): 4},
        labels={"cluster": "c"},
        fires="75s",
        clears="15s",
    ),
    Alert(
        name="KafkaNoActiveController",
        # A cluster whose controllers all fell silent has no sum: it is known by the nodes that are asked in vain.
        expression=f"({CONTROLLERS} == 0 unless on (cluster) ({AT_WORK})) "
        f"or (group by (cluster) ({UP}) unless group by (cluster) ({ACTIVE}))",
        hold="30s",
        severity="critical",
        summary="{{ $labels.cluster }} has no active controller: no leader is elected, no topic changed, no broker let in.",
        description="The quorum has no majority, or none of the controllers can be read.",
        broken={named(ACTIVE, node="1"): 0, **{named(COMMITTED, node=node): Rise(0) for node in NODES}},
        labels={"cluster": "c"},
        fires="105s",
        clears="15s",
    ),
    Alert(
        name="KafkaTwoActiveControllers",
        expression=f"{CONTROLLERS} > 1",
        hold="1m",
        severity="critical",
        summary="{{ $value }} controllers of {{ $labels.cluster }} say that they are active.",
        description="Two quorums, or two clusters that are watched under one name.",
        broken={named(ACTIVE, node="2"): 1},
        labels={"cluster": "c"},
        fires="75s",
        clears="15s",
    ),
    Alert(
        name="KafkaUncleanLeaderElection",
        # Every controller counts it. The window is longer than the wait, so that one election is enough.
        expression=f"max by (cluster) (increase({UNCLEAN}[10m])) > 0",
        hold="0s",
        severity="critical",
        summary="A leader was elected from outside the ISR in {{ $labels.cluster }}: acknowledged records may be lost.",
        description="unclean.leader.election.enable is on for a topic, or somebody asked for an unclean election.",
        broken={named(UNCLEAN, node=node): Event(1) for node in NODES},
        labels={"cluster": "c"},
        fires="15s",
        clears="0s",  # long before the other cases heal: ten minutes after it happened
    ),
    Alert(
        name="KafkaBrokerDead",
        # Before 4.1 controllers do not tell when they last heard of whom, but how many brokers they fenced.
        expression=f"{SILENT} or (max by (cluster) ({FENCED}) > 0 unless on (cluster) ({SILENT}))",
        hold="2m",
        severity="critical",
        summary="{{ with $labels.broker }}Broker {{ . }}{{ else }}A broker{{ end }} of {{ $labels.cluster }} "
        "is silent for longer than a restart takes.",
        description="Its process is gone, hangs, or cannot reach the controllers.",
        broken={named(HEARTBEAT, broker="3"): 9000} | {named(FENCED, node=node): 1 for node in NODES},
        labels={"cluster": "c", "broker": "3"},
        fires="135s",
        clears="15s",
    ),
    Alert(
        name="KafkaBrokerUnreachable",
        # A broker that is dead to the controllers too has an alert of its own.
        expression=f"max by (cluster, broker) (kafka_probe_broker_available) == 0 unless on (cluster, broker) ({SILENT})",
        hold="2m",
        severity="critical",
        summary="Clients of {{ $labels.cluster }} get no acknowledgement from broker {{ $labels.broker }}, which is alive.",
        description="Its listener, the network to it or its followers fail, though its heartbeats go on.",
        broken={named("kafka_probe_broker_available", broker="2"): 0},
        labels={"cluster": "c", "broker": "2"},
        fires="135s",
        clears="15s",
    ),
    Alert(
        name="KafkaProbeLostRecords",
        expression="sum by (cluster) (max by (cluster, broker, partition) (increase(kafka_probe_lost_total[15m]))) > 0",
        hold="0s",
        severity="critical",
        summary="The probe lost records in {{ $labels.cluster }} that had been acknowledged.",
        description="What happens to the probe's records happens to everybody's.",
        broken={named("kafka_probe_lost_total", broker="1", partition="1"): Event(5)},
        labels={"cluster": "c"},
        fires="15s",
        clears="0s",
    ),
)
