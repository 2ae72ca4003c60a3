"""All commands under one name, one way to end, one set of exit codes."""

import signal
import sys
import traceback
from types import FrameType
from typing import Annotated

import typer

import kafka_trial
from kafka_trial.cli import (
    alerts,
    audit,
    catalogue,
    check,
    dashboards,
    demo,
    doctor,
    down,
    drain,
    exporter,
    fetch,
    lag,
    lag_monitor,
    probe,
    report,
    run,
    runs,
    shrink,
    status,
    up,
)
from kafka_trial.cli.screen import complain
from kernel.errors import SuiteError

EXIT_CODES = "Exit codes: 0 pass, 1 fail, 2 wrong usage, 3 inconclusive, 4 our own failure."

# What an install without extras lacks, and which extra has it.
EXTRAS = {
    **dict.fromkeys(("grafana_api", "grafana_foundation_sdk", "promql_parser", "yaml"), "dashboards"),
    **dict.fromkeys(("jinja2", "numpy", "pyarrow"), "trials"),
    **dict.fromkeys(("py4j", "pyspark"), "reports"),
    **dict.fromkeys(("jmxquery", "prometheus_client", "pydantic", "starlette", "uvicorn"), "exporter"),
}

app = typer.Typer(
    help="A real Kafka cluster in three seconds, broken on purpose, with a verdict you can trust.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (demo, run, check, drain, shrink, up, status, down, exporter, probe, lag_monitor, report, doctor, fetch):
    name = module.__name__.rpartition(".")[2]
    app.command(name.replace("_", "-"), help=module.__doc__)(getattr(module, name))
app.add_typer(audit.audit, name="audit")
app.add_typer(lag.lag, name="lag")
app.add_typer(runs.runs, name="runs")
app.add_typer(catalogue.catalogue, name="catalogue")
app.add_typer(dashboards.dashboards, name="dashboards")
app.add_typer(alerts.alerts, name="alerts")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kafka-trial {kafka_trial.__version__}")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    signal.signal(signal.SIGTERM, _end)  # so that `with` blocks clean up, as they do for Ctrl-C
    try:
        app(standalone_mode=True)
    except SuiteError as error:
        complain(error.message)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
            _without(error.name)
        else:
            _confess(error)
        sys.exit(SuiteError.exit_code)


def _without(module: str) -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    of = {
        "alerts": "dashboards",
        "dashboards": "dashboards",
        "lag": "lag",
        "lag-monitor": "lag",
        "audit": "audit",
        "report": "reports",
    }
    extra = of.get(command, EXTRAS[module])
    who = {
        "dashboards": "dashboards and alerts need",
        "lag": "the lag monitor needs",
        "audit": "the audit needs",
        "reports": "Spark reports need",
        "trials": "trials need",
        "exporter": "exporter and probe need",
    }[extra]
    complain(f"{module} is not installed: {who} it. Install it with pip install 'kafka-trial[{extra}]'.")


def _confess(error: Exception) -> None:
    """Python itself would end with 1, which is a verdict here. The traceback comes without a switch: a trial that is run
    again for it may well not fail again."""
    traceback.print_exception(error)
    what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":.")
    complain(
        f"{what}. Nobody foresaw that: it is a defect of ours and no verdict. Please report it with the traceback above."
    )


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
