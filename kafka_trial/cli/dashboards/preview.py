"""Draw dashboards as pages of HTML from what a Prometheus has, for those without a Grafana and for looking at in CI."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import kafka_trial
from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError

if TYPE_CHECKING:
    from dashboards.preview.site import Site
    from dashboards.preview.values import Region, Told
    from dashboards.preview.window import Window
    from dashboards.prometheus import Prometheus
    from dashboards.reading import Dashboard

PROBE = "vector(1)"  # what any Prometheus can answer


def preview(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE|DIR]...", help="Dashboards as JSON, or folders of them. Without: our own."),
    ] = None,
    prometheus: Annotated[
        str, typer.Option("--prometheus", metavar="URL", help="Where to ask. Login: in the URL, or PROMETHEUS_TOKEN.")
    ] = "http://localhost:9090",
    to: Annotated[Path, typer.Option("--out", metavar="DIR", help="Gets index.html and a page for each.")] = Path("preview"),
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="-1h, 2026-11-17T09:30 (UTC), or seconds since 1970.")
    ] = "-1h",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="The same, or now.")] = "now",
    variables: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="For a variable; otherwise it is anything.")
    ] = None,
    step: Annotated[
        int | None,
        typer.Option("--step", metavar="SECONDS", help="Between two points. Default: at most 400 of them.", min=1),
    ] = None,
    annotations: Annotated[
        list[Path] | None,
        typer.Option("--annotations", metavar="RUN", help="A run folder, whose faults are shown over every plot."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for each answer.", min=0.1)] = 10.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if a panel is empty without a reason, or a query refused.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    from dashboards.preview.loading import load, ours
    from dashboards.preview.page import Source
    from dashboards.preview.site import site
    from dashboards.preview.window import window
    from dashboards.prometheus import Prometheus
    from dashboards.writing import write_all

    now = time.time()
    given, looked_at = _given(variables), window(begin, end, now=now, step=step)
    found = load(files) if files else ours()
    regions = [region for run in annotations or () for region in _regions(run)]
    server = Prometheus(prometheus, timeout=timeout)
    with progress(quiet=as_json) as say:
        server.query(PROBE)
        told: list[Told] = []
        for one in found:
            say(f"asking {server.url} for {one.title}")
            told.append(_told(server, one, given, looked_at, now, regions))
        made = site(told, Source(server.url, f"kafka-trial {kafka_trial.__version__}"))
    write_all(to, made.files)
    if as_json:
        print(json.dumps({"index": str(to / "index.html"), "dashboards": made.facts()}, indent=1))
    else:
        _print(made, to)
    if strict and not made.whole:
        raise typer.Exit(1)


def _told(
    server: "Prometheus",
    dashboard: "Dashboard",
    given: dict[str, str],
    looked_at: "Window",
    now: float,
    regions: "Sequence[Region]",
) -> "Told":
    from dashboards.preview.asking import ask
    from dashboards.preview.values import Told
    from dashboards.variables import values_of

    values = values_of(dashboard, given)
    asked = ask(server, dashboard, values, looked_at)
    return Told(dashboard, looked_at, now, asked, values, tuple(regions))


def _given(words: list[str] | None) -> dict[str, str]:
    given = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--var {word!r} is not of the form NAME=VALUE: say for example cluster=main.")
        given[name.removeprefix("$")] = value
    return given


def _regions(path: Path) -> "list[Region]":
    from chaos.evidence.folder import RunFolder
    from dashboards.preview.values import Region
    from dashboards.push.annotations import marks_of, run_of

    folder = RunFolder(path)
    marks = marks_of(run_of(folder.manifest(), str(path)), folder.events(), None)
    return [Region(one.annotation.start_ms, one.annotation.end_ms, one.annotation.text) for one in marks]


def _print(made: "Site", to: Path) -> None:
    from dashboards.preview.panels import Standing

    for page in made.pages:
        counts = [f"{number} {standing}" for standing, number in page.counts.items() if standing is not Standing.DRAWN]
        out.print(f"{page.title}: {len(page.cards)} panels{', ' if counts else ''}{', '.join(counts)}", markup=False)
        for standing in (Standing.REFUSED, Standing.EMPTY):
            for title in page.titles(standing):
                out.print(f"       {standing}: {title}", markup=False)
    out.print(f"preview {to / 'index.html'}", markup=False)
