"""The options of every command that speaks with a Grafana; the token is none of them, a command line is read by others."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dashboards.push.grafana_api_port import GrafanaApiPort

GrafanaUrl = Annotated[
    str, typer.Option("--url", metavar="URL", help="Where Grafana answers, such as http://127.0.0.1:3000.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Holds the token. Default: $GRAFANA_TOKEN, or $GRAFANA_TOKEN_FILE."),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", metavar="FILE", help="Who signed Grafana's certificate (PEM). Default: $GRAFANA_CA_FILE."),
]


def grafana_at(url: str, token_file: Path | None, ca_file: Path | None, environment: Mapping[str, str]) -> "GrafanaApiPort":
    """Nobody is asked yet."""
    from dashboards.push.grafana_api_port import GrafanaApiPort
    from dashboards.push.token import CA_VARIABLE, token_from

    named = environment.get(CA_VARIABLE)
    return GrafanaApiPort(url, token_from(token_file, environment), ca_file=ca_file or (Path(named) if named else None))
