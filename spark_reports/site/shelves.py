"""The report, put where pages look for it: runs by key and by scenario, cells by what they are of."""

from collections import defaultdict
from functools import cached_property

from spark_reports.contents import Band, Cell, Regression, Report, Run, Verdict

Of = tuple[str, str, str]  # scenario, Kafka, configuration


class Shelves:
    def __init__(self, report: Report) -> None:
        self.report = report

    @cached_property
    def runs(self) -> dict[str, Run]:
        return {run.key: run for run in self.report.runs}

    @cached_property
    def by_scenario(self) -> dict[str, list[Run]]:
        """Newest first."""
        found: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.report.runs, key=lambda run: (run.date, run.started.timestamp(), run.key), reverse=True):
            found[run.scenario].append(run)
        return found

    @cached_property
    def current_by_cell(self) -> dict[Of, list[Run]]:
        found: dict[Of, list[Run]] = defaultdict(list)
        for run in self.report.runs:
            if run.current:
                found[run.scenario, run.kafka, run.config].append(run)
        return found

    @cached_property
    def cells(self) -> dict[Of, Cell]:
        return {(cell.scenario, cell.kafka, cell.config): cell for one in self.report.scenarios for cell in one.cells}

    @cached_property
    def worse(self) -> dict[Of, list[Regression]]:
        found: dict[Of, list[Regression]] = defaultdict(list)
        for regression in self.report.regressions:
            found[regression.scenario, regression.kafka, regression.config].append(regression)
        return found

    def expected(self, run: Run) -> Verdict | None:
        cell = self.cells.get((run.scenario, run.kafka, run.config))
        return cell.expected if cell else None

    def band(self, cell: Cell) -> Band | None:
        return self._bands.get((cell.scenario, cell.kafka, cell.config))

    @cached_property
    def _bands(self) -> dict[Of, Band]:
        """Of acknowledgements: that is what a cell's recovery is about."""
        return {
            (scenario.name, trend.kafka, trend.config): trend.baseline
            for scenario in self.report.scenarios
            for trend in scenario.trends
            if trend.operation == "send" and trend.baseline
        }
