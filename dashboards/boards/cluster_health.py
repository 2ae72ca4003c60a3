"""The first page to look at: is the cluster well, since when is it not, what did it cost."""

from dashboards.board import Board, Form, Panel, Query, Row, Step, Variable, Word
from dashboards.boards.names import CONTROLLER, HANDLERS, MANAGER, NETWORK, PROBE, REQUEST, STATS, TOPIC, TRIAL
from dashboards.expressions import CLUSTER, each, increase, total
from dashboards.panels import (
    ANY,
    RED,
    SOME,
    cluster_level,
    cluster_rates,
    events,
    level,
    lines,
    number,
    quantiles,
)

BEHIND = f"{MANAGER}underreplicatedpartitions"
HEARTBEAT = f"{CONTROLLER}timesincelastheartbeatreceivedms"


def _since(bad: str) -> str:
    """Seconds since there was last none, for as long as an hour; the subquery's own step does not count."""
    return f"clamp_min(time() - max_over_time(timestamp({bad} == 0)[1h:15s]) - 15, 0)"


NOW = Row(
    "Now",
    (
        number("Brokers", f"{CONTROLLER}activebrokercount"),
        number("Fenced brokers", f"{CONTROLLER}fencedbrokercount", steps=SOME),
        number(
            "Active controllers",
            f"{CONTROLLER}activecontrollercount",
            words=(Word(0, "none", RED), Word(1, "1", "green"), Word(2, "2", RED)),
        ),
        number("Offline partitions", f"{CONTROLLER}offlinepartitionscount", steps=ANY),
        number("Under min ISR", f"{MANAGER}underminisrpartitioncount", steps=ANY),
        number("Under-replicated", BEHIND, steps=SOME),
        events("Unclean elections", f"{STATS}uncleanleaderelections_total", steps=(Step(0.5, RED),)),
        number("At min ISR", f"{MANAGER}atminisrpartitioncount"),
        number("Offline log directories", "kafka_log_logmanager_offlinelogdirectorycount", steps=ANY),
        number("Not led by their preferred replica", f"{CONTROLLER}preferredreplicaimbalancecount"),
        number("Topics", f"{CONTROLLER}globaltopiccount"),
        number("Partitions", f"{CONTROLLER}globalpartitioncount"),
    ),
)

FIRING = f'ALERTS{{alertstate="firing", alertname=~"Kafka.*", {CLUSTER}}}'
ALERTS = Panel(
    title="Alerts",
    queries=(Query(f"max by (alertname, cluster, severity) ({FIRING})", "{{cluster}} {{alertname}}"),),
    form=Form.STATES,
    unit="none",
    description="The alert rules of kafka-trial that fire. Each has a page in docs/runbooks/.",
    width=24,
    height=5,
    words=(Word(1, "firing", RED),),
    empty="No alert fires.",
)

REPLICATION = Row(
    "Replication and elections",
    (
        ALERTS,
        cluster_level(
            "Partitions that are not well",
            f"{CONTROLLER}offlinepartitionscount",
            f"{MANAGER}underminisrpartitioncount",
            f"{MANAGER}underreplicatedpartitions",
        ),
        cluster_rates(
            "Replicas out of the ISR and back",
            f"{MANAGER}isrshrinks_total",
            f"{MANAGER}isrexpands_total",
            f"{MANAGER}failedisrupdates_total",
        ),
        level(
            "Time since the last heartbeat",
            HEARTBEAT,
            by="broker",
            legend="{{cluster}} broker {{broker}}",
            steps=(Step(5000, RED),),
            why="A living broker is heard of every 2 s. Of a dead one the age rises to the session timeout (9 s) and stays.",
        ),
        lines(
            "Elections",
            Query(increase(f"{CONTROLLER}newactivecontrollerscount_total", window="5m"), "{{cluster}} of controllers"),
            Query(increase(f"{STATS}electionfromeligibleleaderreplicas_total", window="5m"), "{{cluster}} from the ELR"),
            Query(increase(f"{STATS}uncleanleaderelections_total", window="5m"), "{{cluster}} unclean"),
            of=(
                f"{CONTROLLER}newactivecontrollerscount_total",
                f"{STATS}electionfromeligibleleaderreplicas_total",
                f"{STATS}uncleanleaderelections_total",
            ),
            why="In the last five minutes.",
        ),
        cluster_level("Brokers, active and fenced", f"{CONTROLLER}activebrokercount", f"{CONTROLLER}fencedbrokercount"),
        cluster_level("Leaders that are not preferred", f"{CONTROLLER}preferredreplicaimbalancecount"),
    ),
)

RECOVERY = Row(
    "What it cost",
    (
        lines(
            "Time fully replicated",
            Query(f"avg_over_time(({total(BEHIND)} == bool 0)[$__range:])", "{{cluster}}"),
            of=(BEHIND,),
            unit="percentunit",
            form=Form.NUMBER,
            why="Share of the time that is looked at in which every partition had all its replicas in sync.",
        ),
        lines(
            "Time to recover",
            Query(_since(total(f"{CONTROLLER}offlinepartitionscount")), "{{cluster}} every partition led"),
            Query(_since(total(f"{MANAGER}underminisrpartitioncount")), "{{cluster}} acks=all accepted"),
            Query(_since(total(BEHIND)), "{{cluster}} fully replicated"),
            of=(BEHIND, f"{MANAGER}underminisrpartitioncount", f"{CONTROLLER}offlinepartitionscount"),
            unit="s",
            why="How long ago it was last so: 0 while all is well, and the height of a peak is the time it took to recover.",
        ),
        lines(
            "Availability, as a client sees it",
            Query(f"min by (cluster) ({each(f'{PROBE}availability_ratio', by='broker, partition')})", "{{cluster}}"),
            of=(f"{PROBE}availability_ratio",),
            unit="percentunit",
            least=0,
            most=1,
            empty="No probe is scraped.",
            why="Of the worst partition of the probe's topic.",
        ),
        lines(
            "Recovery in the last trials",
            Query(f'max by (scenario, phase) ({TRIAL}last_recovery_seconds{{twin="no"}})', "{{scenario}} {{phase}}"),
            of=(f"{TRIAL}last_recovery_seconds",),
            unit="s",
            empty="No trials are scraped: kafka-trial runs exporter.",
        ),
    ),
)

TRAFFIC = Row(
    "Traffic",
    (
        cluster_rates("Bytes in and out", f"{TOPIC}bytesin_total", f"{TOPIC}bytesout_total"),
        cluster_rates("Records in", f"{TOPIC}messagesin_total"),
        cluster_rates("Requests", f"{TOPIC}totalproducerequests_total", f"{TOPIC}totalfetchrequests_total"),
        cluster_rates("Failed requests", f"{TOPIC}failedproducerequests_total", f"{TOPIC}failedfetchrequests_total"),
        cluster_rates("Bytes between brokers", f"{TOPIC}replicationbytesin_total", f"{TOPIC}replicationbytesout_total"),
        cluster_rates(
            "Bytes of reassigned partitions", f"{TOPIC}reassignmentbytesin_total", f"{TOPIC}reassignmentbytesout_total"
        ),
        cluster_rates("Bytes refused", f"{TOPIC}bytesrejected_total"),
        cluster_rates(
            "Records converted for older clients",
            f"{TOPIC}producemessageconversions_total",
            f"{TOPIC}fetchmessageconversions_total",
        ),
        quantiles(
            "Produce, all but one in a hundred", f"{REQUEST}totaltimems", where='request="Produce"', empty="Nobody produces."
        ),
    ),
)

LOAD = Row(
    "Load",
    (
        level("Request handlers idle", f"{HANDLERS}requesthandleravgidle_ratio", least=0, most=1, width=12),
        level("Network threads idle", f"{NETWORK}networkprocessoravgidle_percent", least=0, most=1, width=12),
    ),
)

BOARD = Board(
    uid="kafka-trial-health",
    title="Kafka: cluster health",
    description=__doc__,
    rows=(NOW, REPLICATION, RECOVERY, TRAFFIC, LOAD),
    variables=(Variable("cluster", "Cluster", "kafka_jmx_up"),),
)
