"""A run's page: its verdict and why, the facts to repeat it by, and where its evidence lies."""

import re
import shlex

from spark_reports.contents import RecoveryRow, Run
from spark_reports.site.addresses import Links
from spark_reports.site.charts.timeline import fault_words
from spark_reports.site.rendering import rendered
from spark_reports.site.shelves import Shelves
from spark_reports.site.standing import level
from spark_reports.site.words import grouped, moment, seconds

MOST_ROWS = 200
BROKERS = re.compile(r"(\d+) brokers?")
PERMITTED = "permitted: "
VALUES = {
    **dict.fromkeys(("quick", "default"), "--settings"),
    **dict.fromkeys(("processes", "containers"), "--provider"),
    **dict.fromkeys(("tls", "sasl_ssl"), "--security"),
}  # words of a configuration that say by themselves which option they are
OPTIONS = re.compile(r"[\w.-]+=[^\s=]+( [\w.-]+=[^\s=]+)*")


def run_page(run: Run, shelves: Shelves, links: Links) -> str:
    expected = shelves.expected(run)
    recovery = sorted(run.recovery, key=_gravest)
    line, left_out = run_again(run)
    return rendered(
        "run.html.j2",
        report=shelves.report,
        run=run,
        links=links,
        level=level(run.verdict, expected),
        expected=expected,
        facts=_facts(run),
        found=sorted(
            ((name, count) for name, count in run.counts.items() if count), key=lambda one: one[0] in run.permitted
        ),
        touched=[row for row in recovery if row.affected is not False or row.within is False][:MOST_ROWS],
        untouched=[row for row in recovery if row.affected is False and row.within is not False][:MOST_ROWS],
        rows_left_out=len(recovery) > MOST_ROWS,
        faults=[(fault.id, fault.sentence, fault_words(fault)) for fault in run.faults],
        check=f"kafka-trial check {shlex.quote(run.folder)}",
        again=line,
        again_without=left_out,
    )


def run_again(run: Run) -> tuple[str, list[str]]:
    """What to type, and what of the configuration could not be put into it: those words are for people."""
    words, left_out = ["kafka-trial", "run", run.scenario], []
    for number, part in enumerate(filter(None, run.config.split(" · "))):
        understood = _options(part) if number == 0 and OPTIONS.fullmatch(part) else _option(part)
        words += understood
        left_out += [] if understood else [part]
    words += ["--kafka", run.kafka] if run.kafka else []
    words += ["--seed", str(run.seed)] if run.seed is not None else []
    return shlex.join(words), left_out


def _options(part: str) -> list[str]:
    return [word for option in part.split(" ") for word in ("-o", option)]


def _option(part: str) -> list[str]:
    if part in VALUES:
        return [VALUES[part], part]
    if found := BROKERS.fullmatch(part):
        return ["--brokers", found[1]]
    if part.startswith(PERMITTED):
        return ["--permit", part.removeprefix(PERMITTED).replace(", ", ",")]
    return []


def _gravest(row: RecoveryRow) -> tuple[bool, bool, float]:
    return (row.within is not False, not row.open, -(row.gap_s or 0.0))


def _facts(run: Run) -> list[tuple[str, str]]:
    named = [
        ("run", run.run_id),
        ("started", moment(run.started)),
        ("took", seconds(run.duration_s) if run.duration_s is not None else ""),
        ("Kafka", run.kafka),
        ("with", run.config),
        ("seed", str(run.seed) if run.seed is not None else ""),
        ("permitted", ", ".join(run.permitted)),
        ("ledger", f"{grouped(run.rows)} rows"),
    ]
    return [(name, value) for name, value in named if value]
