"""Trials: the verdicts of the runs in a folder, and how long the newest of each scenario took to recover.

What is counted lies in a folder from which runs are pruned, so that all of it may fall: gauges, no counter.
"""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import Kind, Metric, Scope


def _trial(name: str, help: str, *labels: str, **more: Any) -> Metric:  # noqa: A002
    return own(f"kafka_trial_{name}", Kind.GAUGE, help, *labels, scope=Scope.TRIAL, **more)


_RUN = ("scenario", "kafka", "twin")

ROWS = (
    _trial("runs", "Runs in the folder, by verdict.", *_RUN, "verdict"),
    _trial("last_verdict", "1 for the verdict of the newest run, 0 for the others.", *_RUN, "verdict"),
    _trial(
        "last_run_timestamp_seconds",
        "When the newest run began.",
        *_RUN,
        unit="seconds",
        note="Or ended, or was judged, where no more is known.",
    ),
    _trial("last_duration_seconds", "How long the newest run took.", *_RUN, unit="seconds"),
    _trial(
        "last_recovery_seconds",
        "The longest time of the newest run from a fault to a phase of its recovery, and the longest gaps.",
        *_RUN,
        "phase",
        unit="seconds",
        note="detect, elect, first_success, full_isr, drained; write_gap, read_gap. Not there where it was not seen.",
    ),
    _trial(
        "last_recovery_bound_seconds",
        "How long the longest gap of the newest run might have been.",
        *_RUN,
        "phase",
        unit="seconds",
        note="write_gap, read_gap. Not there where nothing is judged.",
    ),
    _trial("last_late_recoveries", "Gaps of the newest run that were longer than they might have been.", *_RUN),
    _trial("last_open_gaps", "Gaps of the newest run that never closed: known to be at least so long.", *_RUN),
    _trial("last_acknowledged_records", "Records that were acknowledged in the newest run.", *_RUN),
    _trial("last_read_records", "Records that were read in the newest run.", *_RUN),
    _trial(
        "last_findings",
        "Anomalies that were found in the newest run, by name.",
        *_RUN,
        "anomaly",
        note="Those that its configuration permits too.",
    ),
    _trial("unjudged_runs", "Runs in the folder without a verdict: not over yet, or interrupted."),
    _trial("unreadable_runs", "Runs in the folder that are damaged, or are not what they seem."),
    _trial("dropped_runs", "Runs of which nothing is told, for there are too many scenarios and versions."),
    _trial("up", "1 if the folder could be read when it was last looked at, else 0."),
    _trial("read_timestamp_seconds", "When the folder was last read.", unit="seconds"),
    _trial("read_seconds", "How long it took to look through the folder.", unit="seconds"),
)
