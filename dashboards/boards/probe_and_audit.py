"""What a client gets: records sent against records read, by a probe with every broker and by the books of real traffic."""

from dashboards.board import Board, Query, Row, Step, Variable
from dashboards.boards.names import AUDIT, PROBE
from dashboards.expressions import CLUSTER, each, total_rate
from dashboards.panels import ANY, RED, UP, cluster_rates, events, level, lines, percentiles, states, table

WHERE = "broker, partition"
LINK = "topic, source, tier"
MISSING = 'outcome="missing"'
NO_PROBE = "No probe is scraped."
NO_AUDIT = "No auditor is scraped."
RARE = (Step(0.5, RED),)
EXPIRY = f"{PROBE}certificate_expiry_timestamp_seconds"

SEEN = Row(
    "The probe: expected against actual",
    (
        lines(
            "Sent, acknowledged, read back",
            *(
                Query(total_rate(f"{PROBE}{name}_total"), f"{{{{cluster}}}} {name}")
                for name in ("sent", "acknowledged", "received")
            ),
            of=tuple(f"{PROBE}{name}_total" for name in ("sent", "acknowledged", "received")),
            unit="cps",
            width=12,
            empty=NO_PROBE,
            why="Three lines in one place are what is to be seen.",
        ),
        states("Brokers, to a client", f"{PROBE}broker_available", UP, by="broker", width=12, empty=NO_PROBE),
        events("Lost", f"{PROBE}lost_total", steps=RARE, empty=NO_PROBE),
        events("Duplicated", f"{PROBE}duplicated_total", steps=RARE, empty=NO_PROBE),
        events("Out of order", f"{PROBE}out_of_order_total", steps=RARE, empty=NO_PROBE),
        events("Late", f"{PROBE}late_total", empty=NO_PROBE),
        events("Commits that failed", f"{PROBE}commit_errors_total", empty="No commit failed."),
        events("Sends that failed", f"{PROBE}failed_total", empty="No send failed."),
        percentiles("Until the acknowledgement", f"{PROBE}ack_seconds", by="broker", empty=NO_PROBE),
        percentiles("Until it is read back", f"{PROBE}roundtrip_seconds", by="broker", empty=NO_PROBE),
        percentiles("Until a commit is acknowledged", f"{PROBE}commit_seconds", empty=NO_PROBE),
        level("Availability", f"{PROBE}availability_ratio", by=WHERE, least=0, most=1, empty=NO_PROBE),
        cluster_rates("Sends that failed, by error", f"{PROBE}failed_total", by="error", empty="No send failed."),
        lines(
            "Certificates expire",
            Query(f"{each(EXPIRY, by='broker')} - time()", "{{cluster}} broker {{broker}}"),
            of=(EXPIRY,),
            unit="s",
            steps=(),
            empty="The probe does not speak TLS.",
        ),
    ),
)

BOOKS = Row(
    "The audit: expected against actual",
    (
        lines(
            "Records counted by each tier",
            Query(total_rate(f"{AUDIT}counted_records_total", by="topic, tier"), "{{cluster}} {{topic}} {{tier}}"),
            of=(f"{AUDIT}counted_records_total",),
            unit="cps",
            width=12,
            empty=NO_AUDIT,
        ),
        lines(
            "What became of them",
            Query(
                f"sum by (cluster, outcome) ({each(f'{AUDIT}records', by=f'{LINK}, outcome')})", "{{cluster}} {{outcome}}"
            ),
            of=(f"{AUDIT}records",),
            width=12,
            empty=NO_AUDIT,
        ),
        lines(
            "Missing",
            Query(
                f"sum by (cluster, topic, tier) ({each(f'{AUDIT}records', MISSING, LINK)})",
                "{{cluster}} {{topic}} {{tier}}",
            ),
            of=(f"{AUDIT}records",),
            steps=ANY,
            empty="Nothing is missing.",
        ),
        lines(
            "Behind the clock",
            Query(f"time() - {each(f'{AUDIT}complete_timestamp_seconds', by=LINK)}", "{{cluster}} {{topic}} {{tier}}"),
            of=(f"{AUDIT}complete_timestamp_seconds",),
            unit="s",
            empty=NO_AUDIT,
        ),
        level("Latency", f"{AUDIT}latency_seconds", by="topic, tier, percentile", empty=NO_AUDIT),
        level("Clients that count", f"{AUDIT}clients", by="tier, state", empty=NO_AUDIT),
        table(
            "Every link",
            Query(f"sum by (cluster, topic, source, tier, outcome) ({AUDIT}records{{{CLUSTER}}})", column="records"),
            of=(f"{AUDIT}records",),
            empty=NO_AUDIT,
        ),
    ),
)

BOARD = Board(
    uid="kafka-trial-probe",
    title="Kafka: probe and audit",
    description=__doc__,
    rows=(SEEN, BOOKS),
    variables=(Variable("cluster", "Cluster", f"{PROBE}up"),),
)
