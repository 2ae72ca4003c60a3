"""Trials: what was promised and kept, and how long recovery took, scenario by scenario and version by version."""

from dashboards.board import Board, Form, Query, Row, Step, Variable, Word
from dashboards.boards.names import TRIAL
from dashboards.expressions import select
from dashboards.panels import ANY, ORANGE, RED, lines, table

WHICH = 'scenario=~"$scenario", kafka=~"$kafka"'
PROMISED = f'{WHICH}, twin="no"'  # a twin is run to fail
BY = "scenario, kafka"
VERDICTS = (Word(0, "PASS", "green"), Word(1, "INCONCLUSIVE", ORANGE), Word(2, "FAIL", RED))
NO_TRIALS = "No trials are scraped: kafka-trial runs exporter."
NOT_SEEN = "No run had such a phase."


def _of(name: str, where: str = PROMISED, by: str = BY) -> str:
    """Runs are of no cluster that still is; twins are left out, for how long they took to fail says nothing of the rest."""
    return f"max by ({by}) ({select(TRIAL + name, where, cluster='')})"


def _verdict() -> str:
    """0 pass, 1 inconclusive, 2 fail."""
    fail, unsure = (_of("last_verdict", f'{PROMISED}, verdict="{word}"') for word in ("FAIL", "INCONCLUSIVE"))
    return f"2 * {fail} + {unsure}"


VERDICT = Row(
    "Verdicts",
    (
        lines(
            "Newest verdict",
            Query(_verdict(), "{{scenario}} {{kafka}}"),
            of=(f"{TRIAL}last_verdict",),
            unit="none",
            form=Form.STATES,
            words=VERDICTS,
            width=12,
            height=9,
            empty=NO_TRIALS,
        ),
        table(
            "Runs",
            Query(f"sum by (scenario, kafka, twin, verdict) ({select(f'{TRIAL}runs', WHICH, cluster='')})", column="runs"),
            of=(f"{TRIAL}runs",),
            width=12,
            height=9,
            empty=NO_TRIALS,
        ),
        lines(
            "Anomalies in the newest run",
            Query(_of("last_findings", PROMISED, f"{BY}, anomaly"), "{{scenario}} {{kafka}} {{anomaly}}"),
            of=(f"{TRIAL}last_findings",),
            steps=ANY,
            empty="No anomaly was found.",
        ),
        lines(
            "Since the newest run",
            Query(f"time() - {_of('last_run_timestamp_seconds', WHICH)}", "{{scenario}} {{kafka}}"),
            of=(f"{TRIAL}last_run_timestamp_seconds",),
            unit="s",
            steps=(Step(2 * 86_400, ORANGE),),
            empty=NO_TRIALS,
            why="A nightly run that no longer runs is found here.",
        ),
        lines(
            "Runs without a verdict, or damaged",
            Query(f"max({select(f'{TRIAL}unjudged_runs', cluster='')})", "without a verdict"),
            Query(f"max({select(f'{TRIAL}unreadable_runs', cluster='')})", "damaged"),
            of=(f"{TRIAL}unjudged_runs", f"{TRIAL}unreadable_runs"),
            empty=NO_TRIALS,
        ),
    ),
)

RECOVERY = Row(
    "Recovery in the newest run",
    (
        lines(
            "Longest gap without an acknowledgement, and its bound",
            Query(_of("last_recovery_seconds", f'{PROMISED}, phase="write_gap"'), "{{scenario}} {{kafka}} gap"),
            Query(_of("last_recovery_bound_seconds", f'{PROMISED}, phase="write_gap"'), "{{scenario}} {{kafka}} bound"),
            of=(f"{TRIAL}last_recovery_seconds", f"{TRIAL}last_recovery_bound_seconds"),
            unit="s",
            width=12,
            empty=NOT_SEEN,
        ),
        lines(
            "Phases",
            Query(_of("last_recovery_seconds", PROMISED, f"{BY}, phase"), "{{scenario}} {{kafka}} {{phase}}"),
            of=(f"{TRIAL}last_recovery_seconds",),
            unit="s",
            width=12,
            empty=NOT_SEEN,
        ),
        lines(
            "Gaps longer than their bound, or never closed",
            Query(_of("last_late_recoveries", PROMISED), "{{scenario}} {{kafka}} late"),
            Query(_of("last_open_gaps", PROMISED), "{{scenario}} {{kafka}} open"),
            of=(f"{TRIAL}last_late_recoveries", f"{TRIAL}last_open_gaps"),
            steps=ANY,
            empty=NO_TRIALS,
        ),
        lines(
            "Records acknowledged and read",
            Query(_of("last_acknowledged_records"), "{{scenario}} {{kafka}} acknowledged"),
            Query(_of("last_read_records"), "{{scenario}} {{kafka}} read"),
            of=(f"{TRIAL}last_acknowledged_records", f"{TRIAL}last_read_records"),
            empty=NO_TRIALS,
        ),
        lines(
            "How long a run takes",
            Query(_of("last_duration_seconds"), "{{scenario}} {{kafka}}"),
            of=(f"{TRIAL}last_duration_seconds",),
            unit="s",
            empty=NO_TRIALS,
        ),
    ),
)

BOARD = Board(
    uid="kafka-trial-trials",
    title="Kafka: trials",
    description=__doc__,
    rows=(VERDICT, RECOVERY),
    variables=(
        Variable("scenario", "Scenario", f"{TRIAL}runs", within=""),
        Variable("kafka", "Kafka", f"{TRIAL}runs", within=""),
    ),
)
