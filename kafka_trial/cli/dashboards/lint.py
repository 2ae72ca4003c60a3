"""Judge anybody's dashboards: panels without data, sums over what every controller repeats, raw counters, wrong units.

Exit code 1 if something is wrong. Without --prometheus or --metrics only what the catalogue of Kafka's metrics knows is
judged, and not whether panels have data.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out
from kernel.errors import UsageError
from kernel.metric_tables import METRICS

if TYPE_CHECKING:
    from dashboards.lint.findings import Finding, Report
    from dashboards.prometheus import Prometheus

CATALOGUE_ONLY = "judged by the catalogue alone: whether panels have data needs --prometheus or --metrics"


def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Dashboards as JSON, or folders of them.")],
    prometheus: Annotated[
        str | None,
        typer.Option("--prometheus", metavar="URL", help="Ask every query there. Login: in the URL, or PROMETHEUS_TOKEN."),
    ] = None,
    metrics: Annotated[
        list[Path] | None,
        typer.Option("--metrics", metavar="FILE", help="A page as /metrics answers it, instead; may be given again."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="No data is a finding even where the panel says that there may be none.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    from dashboards.lint.known import of_catalogue, with_names
    from dashboards.lint.linting import lint as judged
    from dashboards.lint.pages import with_page
    from dashboards.prometheus import Prometheus
    from dashboards.reading import read

    boards = [read(path) for path in _files(files)]
    known = of_catalogue(METRICS)
    for page in metrics or ():
        known = with_page(known, page)
    server: Prometheus | None = None
    if prometheus:
        server = Prometheus(prometheus)
        known = with_names(known, server.names(), server.metadata())
    reports = [judged(board, known, ask=_asking(server), strict=strict) for board in boards]
    if as_json:
        print(json.dumps(_facts(reports, prometheus is None and not metrics), indent=1))
    else:
        _print(reports, catalogue_only=prometheus is None and not metrics)
    raise typer.Exit(1 if any(one.findings for one in reports) else 0)


def _asking(server: "Prometheus | None") -> Any:
    return None if server is None else lambda expression: bool(server.query(expression))


def _files(given: Iterable[Path]) -> Iterator[Path]:
    for path in given:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.glob("*.json"))
        if not inside:
            raise UsageError(f"{path} has no *.json in it: name the dashboards, or the folder they are in.")
        yield from inside


def _print(reports: "list[Report]", *, catalogue_only: bool) -> None:
    for report in reports:
        if not report.findings:
            continue
        _say(f"{report.board}  ({report.source})")
        for panel, ofit in _by_panel(report.findings):
            _say(f"  {panel}")
            for one in ofit:
                _say(f"    {one.ref or '-'}  {one.check}: {one.sentence}{' → ' + one.hint if one.hint else ''}")
    quiet = sum(len(one.quiet) for one in reports)
    skipped = sum(len(one.skipped) for one in reports)
    if quiet:
        _say(f"{_number(quiet, 'query')} without data in panels that say there may be none (--strict counts them)")
    if skipped:
        _say(f"{_number(skipped, 'panel or query', 'panels or queries')} not judged (--json says which and why)")
    _say(_counts(reports) + (f" ({CATALOGUE_ONLY})" if catalogue_only else ""))


def _by_panel(findings: "Iterable[Finding]") -> "Iterable[tuple[str, list[Finding]]]":
    panels: dict[str, list[Finding]] = {}
    for one in findings:
        panels.setdefault(one.panel, []).append(one)
    return panels.items()


def _counts(reports: "list[Report]") -> str:
    parts = (
        _number(len(reports), "dashboard"),
        _number(sum(one.panels for one in reports), "panel"),
        _number(sum(one.queries for one in reports), "query", "queries"),
    )
    return f"{', '.join(parts)}: {_number(sum(len(one.findings) for one in reports), 'finding')}"


def _number(count: int, one: str, many: str = "") -> str:
    plural = many or ("queries" if one == "query" else f"{one}s")
    return f"{count} {one if count == 1 else plural}"


def _facts(reports: "list[Report]", catalogue_only: bool) -> dict[str, Any]:
    return {
        "catalogue only": catalogue_only,
        "dashboards": len(reports),
        "panels": sum(one.panels for one in reports),
        "queries": sum(one.queries for one in reports),
        "findings": sum(len(one.findings) for one in reports),
        "reports": [one.as_json() for one in reports],
    }


def _say(words: str) -> None:
    out.print(words, markup=False)
