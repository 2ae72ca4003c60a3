"""Whether brokers have what they need of their machine: disks and file descriptors."""

from dashboards.alerts.alert import Alert
from dashboards.alerts.healthy import named

FREE = "max by (cluster, node, dir) (kafka_log_dir_free_bytes) / max by (cluster, node, dir) (kafka_log_dir_total_bytes)"
FDS = "max by (cluster, node) (process_open_fds) / max by (cluster, node) (process_max_fds)"
OFFLINE = "kafka_log_logmanager_offlinelogdirectorycount"
DATA = {"cluster": "c", "node": "3", "dir": "/data"}

RULES = (
    Alert(
        name="KafkaDiskFilling",
        expression=f"{FREE} < 0.15",
        hold="5m",
        severity="warning",
        summary="The disk of {{ $labels.dir }} on node {{ $labels.node }} of {{ $labels.cluster }} has less than 15 % left.",
        description="A broker whose disk is full takes its log directory offline, or ends.",
        broken={named("kafka_log_dir_free_bytes", node="3", dir="/data"): 12},
        labels=DATA,
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaDiskFull",
        expression=f"{FREE} < 0.05",
        hold="1m",
        severity="critical",
        summary="The disk of {{ $labels.dir }} on node {{ $labels.node }} of {{ $labels.cluster }} has less than 5 % left.",
        description="Minutes remain until the broker takes its log directory offline, or ends.",
        broken={named("kafka_log_dir_free_bytes", node="3", dir="/data"): 2},
        labels=DATA,
        fires="75s",
        clears="15s",
        also={"KafkaDiskFilling": DATA},
    ),
    Alert(
        name="KafkaFileDescriptors",
        # Of nodes alone: whatever else is scraped has file descriptors too.
        expression=f"{FDS} > 0.8 and on (cluster, node) kafka_jmx_up",
        hold="5m",
        severity="warning",
        summary="Node {{ $labels.node }} of {{ $labels.cluster }} uses over four fifths of its file descriptors.",
        description="When they are used up it accepts no connection and opens no segment.",
        broken={named("process_open_fds", node="2"): 900},
        labels={"cluster": "c", "node": "2"},
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaLogDirOffline",
        expression=f"max by (cluster, node) ({OFFLINE}) > 0",
        hold="1m",
        severity="critical",
        summary="Node {{ $labels.node }} of {{ $labels.cluster }} has lost {{ $value }} log directories.",
        description="Its disk failed or is full. Replicas there are gone until the broker is restarted with a good one.",
        broken={named(OFFLINE, node="1"): 1},
        labels={"cluster": "c", "node": "1"},
        fires="75s",
        clears="15s",
    ),
)
