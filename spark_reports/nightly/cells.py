"""One scenario on one version under one configuration: how often it passed, and how available it was."""

from typing import cast

from spark_reports.contents import Cell, Spread, Verdict
from spark_reports.nightly.compare import Match, expected


def cell(match: Match, spread: Spread) -> Cell:
    runs, group = match.now, match.group
    shares = [run.availability for run in runs if run.availability is not None]
    return Cell(
        scenario=group.scenario,
        kafka=group.kafka,
        config=group.config,
        runs=len(runs),
        passed=sum(run.verdict == "PASS" for run in runs),
        failed=sum(run.verdict == "FAIL" for run in runs),
        inconclusive=sum(run.verdict == "INCONCLUSIVE" for run in runs),
        latest=runs[-1].key,
        latest_verdict=runs[-1].verdict,
        expected=cast(Verdict | None, expected(match)),
        availability=sum(shares) / len(shares) if shares else None,
        recovery=spread if spread.n else None,
    )
