"""End the run of an application that kept a ledger: read back every partition it wrote, so that `check` can judge it."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError
from kernel.verdict import Verdict


def drain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder: interceptor.ledger.folder of its clients.")],
    bootstrap: Annotated[str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="The cluster.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Or a TOML file with a [kafka] table, for a cluster with TLS or a login.")
    ] = None,
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Also this one; may be repeated.")] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="NAME", help="The function that finds a record's value, by dotted name.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds for reading it all.")] = 300.0,
    as_json: AsJson = False,
) -> None:
    from chaos.application import drain as read_back

    if value:
        sys.path.insert(0, "")  # an application's own modules are found from where it is started, as by python -m
    with progress(quiet=as_json) as say:
        say(f"reading back what {run} says was written")
        ended = read_back(run, _cluster(bootstrap, config), topics=topic or (), value=value, timeout=timeout)
    told: dict[str, Any] = {"read": ended.read, "partitions": ended.partitions, "drained": ended.reached}
    if as_json:
        print(json.dumps(told | {"missing": list(ended.missing)}, indent=1))
    else:
        reached = "all" if ended.reached == ended.partitions else f"{ended.reached} of"
        out.print(f"{ended.read:,} records read, {reached} {ended.partitions} partitions to their end", markup=False)
        for name in ended.missing:
            out.print(f"topic {name} was written and does not exist any more", markup=False)
    if not ended.complete:
        raise typer.Exit(Verdict.INCONCLUSIVE.exit_code)


def _cluster(bootstrap: str | None, config: Path | None) -> dict[str, Any]:
    if bool(bootstrap) == bool(config):
        raise UsageError("say where the cluster is: --bootstrap HOST:PORT, or --config FILE, and not both.")
    if bootstrap:
        return {"bootstrap.servers": bootstrap}
    from kafka_trial.daemon.cluster_config import ClusterConfig
    from kafka_trial.daemon.config_file import address_of, load

    kafka = load(config or Path(), ClusterConfig).kafka
    return {**address_of(kafka).librdkafka(), **kafka.settings}
