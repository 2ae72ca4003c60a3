"""Whether the silence of all other alerts means anything."""

from dashboards.alerts.alert import Alert, Gone
from dashboards.alerts.healthy import DAY, HEARTBEAT, UP, named

# A broker that is dead has an alert of its own; here are those that live and are not seen.
DEAD = f'label_replace(max by (cluster, broker) ({HEARTBEAT}) > 5000, "node", "$1", "broker", "(.+)")'
MONITORS = {"exporter": UP, "lag monitor": "kafka_lag_up", "probe": "kafka_probe_up", "audit": "kafka_audit_up"}
EXPIRY = "min by (cluster, broker) (kafka_probe_certificate_expiry_timestamp_seconds) - time()"


def _vanished(monitor: str, up: str) -> str:
    """It was there within a day. One that never was is not missed: nobody has to run all of them."""
    gone = f"group by (cluster) (last_over_time({up}[1d])) unless group by (cluster) ({up})"
    return f'label_replace({gone}, "monitor", "{monitor}", "", "")'


def _blind(monitor: str, metric: str) -> str:
    stale = f" or time() - max by (cluster) ({metric}_judged_timestamp_seconds) > 300" if "probe" not in metric else ""
    return f'label_replace(max by (cluster) ({metric}_up) == 0{stale}, "monitor", "{monitor}", "", "")'


RULES = (
    Alert(
        name="KafkaNodeNotRead",
        expression=f"max by (cluster, node) ({UP}) == 0 unless on (cluster, node) {DEAD}",
        hold="5m",
        severity="warning",
        summary="The exporter gets no figures from node {{ $labels.node }} of {{ $labels.cluster }}.",
        description="No panel and no alert knows how it is. A controller that is dead is found here too.",
        broken={named(UP, node="3"): 0},
        labels={"cluster": "c", "node": "3"},
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaMonitorGone",
        # absent() for the exporter: without it nothing here knows of any cluster, however long ago it was.
        expression=" or ".join(
            [*(_vanished(*one) for one in MONITORS.items()), f'label_replace(absent({UP}), "monitor", "exporter", "", "")']
        ),
        hold="5m",
        severity="critical",
        summary="The {{ $labels.monitor }}{{ with $labels.cluster }} of {{ . }}{{ end }} is no longer scraped.",
        description="The alerts that stand on it cannot fire.",
        broken={named("kafka_probe_up"): Gone()},
        labels={"cluster": "c", "monitor": "probe"},
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaMonitorBlind",
        expression=" or ".join(
            (_blind("lag monitor", "kafka_lag"), _blind("probe", "kafka_probe"), _blind("audit", "kafka_audit"))
        ),
        hold="5m",
        severity="warning",
        summary="The {{ $labels.monitor }} of {{ $labels.cluster }} cannot see its cluster.",
        description="It runs, and what it knows grows old.",
        broken={named("kafka_lag_up"): 0},
        labels={"cluster": "c", "monitor": "lag monitor"},
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaCertificateExpiring",
        expression=f"{EXPIRY} < 14 * 86400",
        hold="5m",
        severity="warning",
        summary="The certificate of broker {{ $labels.broker }} of {{ $labels.cluster }} expires within two weeks.",
        description="Once it has expired no client connects.",
        broken={named("kafka_probe_certificate_expiry_timestamp_seconds", broker="1"): 10 * DAY},
        labels={"cluster": "c", "broker": "1"},
        fires="5m15s",
        clears="15s",
    ),
    Alert(
        name="KafkaCertificateExpiresSoon",
        expression=f"{EXPIRY} < 2 * 86400",
        hold="5m",
        severity="critical",
        summary="The certificate of broker {{ $labels.broker }} of {{ $labels.cluster }} expires within two days, or has.",
        description="Once it has expired no client connects.",
        broken={named("kafka_probe_certificate_expiry_timestamp_seconds", broker="1"): DAY},
        labels={"cluster": "c", "broker": "1"},
        fires="5m15s",
        clears="15s",
        also={"KafkaCertificateExpiring": {"cluster": "c", "broker": "1"}},
    ),
)
