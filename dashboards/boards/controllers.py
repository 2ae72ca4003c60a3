"""The KRaft quorum: who leads it, who is behind, how busy the controller is, what it thinks of the brokers."""

from dashboards.board import Board, Query, Row, Step, Variable, Word
from dashboards.boards.names import CONTROLLER, METADATA, RAFT
from dashboards.expressions import CLUSTER, each
from dashboards.panels import ANY, ORANGE, RED, cluster_level, cluster_rates, level, lines, quantiles, rates, states, table

EVENTS = "kafka_controller_controllereventmanager_"
LOADER = "kafka_server_metadataloader_"
SNAPSHOT = "kafka_server_snapshotemitter_"
HEARTBEAT = f"{CONTROLLER}timesincelastheartbeatreceivedms"
END = f"{RAFT}log_end_offset"
REGISTERED = (Word(10, "fenced", RED), Word(20, "shutting down in order", ORANGE), Word(30, "active", "green"))

QUORUM = Row(
    "Quorum",
    (
        states(
            "Active controller",
            f"{CONTROLLER}activecontrollercount",
            (Word(0, "standby", "blue"), Word(1, "active", "green")),
            width=12,
        ),
        states("State in the quorum", f"{RAFT}current_state", (Word(1, "so", "green"),), by="state", width=12),
        table(
            "Every node's view",
            Query(f"max by (cluster, node, state) ({RAFT}current_state{{{CLUSTER}}})", column="so"),
            Query(each(f"{RAFT}current_leader"), column="leader", unit="none"),
            Query(each(f"{RAFT}current_epoch"), column="epoch", unit="none"),
            Query(each(f"{RAFT}high_watermark"), column="high watermark", unit="none"),
            Query(each(END), column="log end", unit="none"),
            of=(f"{RAFT}current_leader", f"{RAFT}current_epoch", f"{RAFT}high_watermark", END),
            hidden=("so",),
            why="Two leaders or two epochs that stay are two views of one quorum.",
        ),
        lines(
            "Behind the end of the metadata log",
            Query(f"max by (cluster) ({each(END)}) - on (cluster) group_right () {each(END)}", "{{cluster}} {{node}}"),
            of=(END,),
            why="In records. A node that stays behind will not be elected, and knows less than the others.",
        ),
        level(
            "Commit latency", f"{RAFT}commit_latency_avg", f"{RAFT}commit_latency_max", empty="Nothing was committed lately."
        ),
        level(
            "Election latency",
            f"{RAFT}election_latency_avg",
            f"{RAFT}election_latency_max",
            empty="No controller was elected lately.",
        ),
        cluster_rates("Elections of controllers", f"{CONTROLLER}newactivecontrollerscount_total"),
        level("Records appended", f"{RAFT}append_records_rate", f"{RAFT}fetch_records_rate", unit="cps"),
        level("Quorum thread idle", f"{RAFT}poll_idle_ratio_avg", least=0, most=1),
        cluster_level("Voters", f"{RAFT}number_of_voters"),
        level("Voters not connected", f"{RAFT}number_unknown_voter_connections", steps=ANY),
        level("Offsets", f"{RAFT}high_watermark", END),
    ),
)

WORK = Row(
    "The controller at work",
    (
        quantiles("Events wait, all but one in a hundred", f"{EVENTS}eventqueuetimems"),
        quantiles("Events take, all but one in a hundred", f"{EVENTS}eventqueueprocessingtimems"),
        level("Controller thread idle", f"{EVENTS}avgidleratio", least=0, most=1, empty="Kafka tells this from 4.2 on."),
        rates(
            "Operations", f"{CONTROLLER}eventqueueoperationsstartedcount_total",
            f"{CONTROLLER}eventqueueoperationstimedoutcount_total",
        ),
        rates("Errors in metadata", f"{CONTROLLER}metadataerrorcount_total"),
        level("Behind the metadata log", f"{CONTROLLER}lastappliedrecordlagms"),
    ),
)  # fmt: skip

BROKERS = Row(
    "Brokers, as the controller sees them",
    (
        level(
            "Age of heartbeats", HEARTBEAT, by="broker", legend="{{cluster}} broker {{broker}}", steps=(Step(5000, RED),),
        ),
        states(
            "Registration", f"{CONTROLLER}brokerregistrationstate", REGISTERED, by="broker",
            empty="Told of brokers that registered since the controller started.",
        ),
        rates("Heartbeats that timed out", f"{CONTROLLER}timedoutbrokerheartbeatcount_total"),
        cluster_level(
            "Brokers", f"{CONTROLLER}activebrokercount", f"{CONTROLLER}fencedbrokercount",
            f"{CONTROLLER}controlledshutdownbrokercount",
        ),
        level("Brokers behind the metadata log", f"{METADATA}last_applied_record_lag_seconds"),
        rates(
            "Errors of brokers with metadata", f"{METADATA}metadata_load_error_count_total",
            f"{METADATA}metadata_apply_error_count_total",
        ),
    ),
)  # fmt: skip

METADATA_LOG = Row(
    "Metadata",
    (
        table(
            "Levels of features",
            Query(f"max by (cluster, feature) ({LOADER}finalizedlevel{{{CLUSTER}}})", column="level", unit="none"),
            of=(f"{LOADER}finalizedlevel",),
            width=8,
        ),
        level("Age of the last snapshot", f"{SNAPSHOT}latestsnapshotgeneratedagems"),
        level("Size of the last snapshot", f"{SNAPSHOT}latestsnapshotgeneratedbytes"),
        cluster_level("Partitions and topics", f"{CONTROLLER}globalpartitioncount", f"{CONTROLLER}globaltopiccount"),
        level("Who each node takes for the controller", f"{LOADER}currentcontrollerid", unit="none"),
        level("Metadata thread idle", f"{LOADER}avgidleratio", least=0, most=1),
    ),
)

BOARD = Board(
    uid="kafka-trial-controllers",
    title="Kafka: KRaft controllers",
    description=__doc__,
    rows=(QUORUM, WORK, BROKERS, METADATA_LOG),
    variables=(Variable("cluster", "Cluster", "kafka_jmx_up"),),
)
