"""Can the other pages be believed? How old each figure is, what could not be had, what was left out."""

from dashboards.board import Board, Panel, Query, Row, Step, Variable
from dashboards.boards.names import AUDIT, JMX, LAG, PROBE
from dashboards.expressions import CLUSTER, each
from dashboards.panels import ANY, RED, SOME, UP, level, lines, rates, states

NO_LAG = "No lag monitor is scraped."
NO_AUDIT = "No auditor is scraped."
NO_TARGET = "No target has this cluster for a label: choose All."


EXPORTER = Row(
    "The exporter",
    (
        states("Nodes that answer", f"{JMX}up", UP, width=12),
        level("Age of what is shown", f"{JMX}age_seconds", width=12),
        level("Time of a collection", f"{JMX}collection_seconds"),
        rates("Collections", f"{JMX}collections_total"),
        rates("Collections that failed", f"{JMX}errors_total", by="reason", empty="None failed."),
        level("Metrics that should be there", f"{JMX}missing", steps=ANY),
        level("Values that mean nothing", f"{JMX}unusable_values"),
        level("Series", f"{JMX}series"),
        rates("Series left out, as there are too many", f"{JMX}dropped_series_total", steps=(Step(0.001, RED),)),
    ),
)

OTHERS = Row(
    "Lag monitor, probe, auditor",
    (
        states("Clusters that the lag monitor reaches", f"{LAG}up", UP, empty=NO_LAG),
        lines(
            "Since groups were judged",
            Query(f"time() - {each(f'{LAG}judged_timestamp_seconds')}", "{{cluster}}"),
            of=(f"{LAG}judged_timestamp_seconds",),
            unit="s",
            empty=NO_LAG,
        ),
        level("Time of a look at the groups", f"{LAG}look_seconds", empty=NO_LAG),
        level("Group-partitions without series", f"{LAG}partitions_left_out", steps=SOME, empty=NO_LAG),
        states("Probe", f"{PROBE}up", UP, empty="No probe is scraped."),
        states("Auditor", f"{AUDIT}up", UP, empty=NO_AUDIT),
        lines(
            "Since the books were judged",
            Query(f"time() - {each(f'{AUDIT}judged_timestamp_seconds')}", "{{cluster}}"),
            of=(f"{AUDIT}judged_timestamp_seconds",),
            unit="s",
            empty=NO_AUDIT,
        ),
        level("Reports that never came", f"{AUDIT}missed_reports", by="tier", steps=SOME, empty=NO_AUDIT),
        rates("Notices by what became of them", f"{LAG}notices_total", by="channel, result", empty="No notice was sent."),
    ),
)

SCRAPES = Row(
    "Prometheus' scrapes",
    (
        Panel(
            "Targets that answer",
            (Query(f"max by (job, instance) (up{{{CLUSTER}}})", "{{job}} {{instance}}"),),
            unit="none",
            description="1 if the last scrape of a target succeeded.",
            empty=NO_TARGET,
        ),
        Panel(
            "Time of a scrape",
            (Query(f"max by (job, instance) (scrape_duration_seconds{{{CLUSTER}}})", "{{job}} {{instance}}"),),
            unit="s",
            description="A scrape never waits for Kafka: this is milliseconds.",
            empty=NO_TARGET,
        ),
        Panel(
            "Samples of a scrape",
            (Query(f"max by (job, instance) (scrape_samples_scraped{{{CLUSTER}}})", "{{job}} {{instance}}"),),
            description="How many series a target has.",
            empty=NO_TARGET,
        ),
    ),
)

BOARD = Board(
    uid="kafka-trial-freshness",
    title="Kafka: freshness of the figures",
    description=__doc__,
    rows=(EXPORTER, OTHERS, SCRAPES),
    variables=(Variable("cluster", "Cluster", f"{JMX}up"),),
)
