"""What an exporter of runs is told in its configuration file, or on its command line."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.tables import Daemon, HostPort, Seconds, is_host_port
from kernel.errors import UsageError


class RunsConfig(Daemon):
    listen: HostPort = "127.0.0.1:9312"
    runs_dir: Path = Path("runs")
    look_every: Seconds = 15.0
    most: Annotated[int, Field(ge=1, le=100_000)] = 1000  # scenarios times versions of Kafka


def told_by(config: Path | None, runs: Path | None, listen: str | None) -> RunsConfig:
    """What is said on the command line holds."""
    if listen is not None and not is_host_port(listen):
        raise UsageError(f"--listen {listen!r} is not HOST:PORT.")
    wanted = load(config, RunsConfig) if config is not None else RunsConfig()
    changed = {"runs_dir": runs, "listen": listen}
    return wanted.model_copy(update={key: value for key, value in changed.items() if value is not None})
