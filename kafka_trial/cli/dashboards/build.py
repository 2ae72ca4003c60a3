"""Write all dashboards, and the files by which a Grafana loads them when it starts, into a folder."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.screen import out


def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets dashboards/ and provisioning/.")],
    path: Annotated[
        str | None, typer.Option("--path", help="Where Grafana will see dashboards/. Default: where the stack mounts it.")
    ] = None,
    prometheus: Annotated[
        str, typer.Option("--prometheus", help="Where Grafana finds Prometheus.")
    ] = "http://prometheus:9090",
) -> None:
    from dashboards import build as building

    written = building.build(folder, path=path or building.MOUNTED, prometheus=prometheus)
    out.print(f"{len(written)} files in {folder}", markup=False)
