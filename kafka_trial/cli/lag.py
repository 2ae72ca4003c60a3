"""Consumer lag in a terminal: how groups are doing now, and whether recorded cases are judged as Burrow judged them."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import SuiteError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

lag = typer.Typer(help=__doc__, no_args_is_help=True, rich_markup_mode=None)

DAEMON = "http://127.0.0.1:8000"
Url = Annotated[str, typer.Option("--url", help="Where a lag monitor answers.")]
CaFile = Annotated[Path | None, typer.Option("--ca-file", help="Who signed its certificate.")]
Bootstrap = Annotated[
    str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="Without a monitor: look at this cluster now.")
]
Config = Annotated[Path | None, typer.Option("--config", help="Without a monitor: look at the clusters of its file now.")]
All = Annotated[bool, typer.Option("--all", help="Also groups that are well.")]
Most = Annotated[int, typer.Option("--limit", min=1, help="At most so many groups.")]
COLOURS = {"OK": "green", "NOTE": "dim", "WARNING": "yellow", "ERROR": "red"}


@lag.command()
def status(
    url: Url = DAEMON,
    ca_file: CaFile = None,
    bootstrap: Bootstrap = None,
    config: Config = None,
    everything: All = False,
    limit: Most = 50,
    as_json: AsJson = False,
) -> None:
    """Show the groups, gravest first. Exit code 1 if one of them is an error."""
    with _source(url, ca_file, bootstrap, config) as ask:
        found = ask()
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        out.print(_table(found, everything, limit))
    if any(group["gravity"] == "ERROR" for group in _groups(found)):
        raise typer.Exit(1)


@lag.command()
def watch(
    url: Url = DAEMON,
    ca_file: CaFile = None,
    bootstrap: Bootstrap = None,
    config: Config = None,
    everything: All = False,
    limit: Most = 40,
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks.")] = 2.0,
) -> None:
    """The same as a live table, until Ctrl-C."""
    from rich.live import Live

    with _source(url, ca_file, bootstrap, config, every) as ask:
        shown = _table(ask(), everything, limit)  # before the screen is taken: an error is to be seen
        with _until_interrupted() as over, Live(shown, console=out, auto_refresh=False, screen=out.is_terminal) as screen:
            while not over.wait(every):
                try:
                    screen.update(_table(ask(), everything, limit), refresh=True)
                except SuiteError as trouble:
                    screen.update(trouble.message, refresh=True)  # it may come back


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Set by Ctrl-C. Not by an exception: one that is raised where Python swallows it, as in a destructor, is lost, and the
    table would stay. A second Ctrl-C is one, for a look that hangs."""
    over = threading.Event()

    def interrupted(number: int, frame: object) -> None:
        if over.is_set():
            raise KeyboardInterrupt
        over.set()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield over
    finally:
        signal.signal(signal.SIGINT, before)


@lag.command()
def replay(
    file: Annotated[Path, typer.Argument(help="Recorded cases, as in shared/data/burrow_recorded.json.")],
    as_json: AsJson = False,
) -> None:
    """Judge recorded sequences by Burrow's rules and say where we differ from what Burrow answered. Exit code 1 if we do."""
    from lag_monitor.burrow.replay import replay as play

    recorded = _recorded(file)
    cases = recorded["recorded_cases"]
    try:
        differences = play(recorded)
    except (KeyError, TypeError, ValueError, AttributeError) as trouble:
        raise UsageError(
            f"{file} does not hold recorded cases in the form we know: {type(trouble).__name__} {trouble}."
        ) from None
    differing = sorted({one.case for one in differences})
    agree = len(cases) - len(differing)
    if as_json:
        told = [{"case": one.case, "what": one.what, "ours": one.ours, "burrow": one.burrow} for one in differences]
        print(json.dumps({"cases": len(cases), "agree": agree, "differences": told}, indent=1))
    else:
        for one in differences:
            out.print(f"case {one.case}: {one.what} is {one.ours!r}, Burrow answered {one.burrow!r}", markup=False)
        out.print(f"{agree} of {len(cases)} agree", markup=False)
    if differing:
        raise typer.Exit(1)


def _recorded(file: Path) -> dict[str, Any]:
    try:
        told = json.loads(file.read_text())
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as trouble:
        raise UsageError(f"{file} cannot be read: {getattr(trouble, 'strerror', None) or 'it is not text'}.") from None
    except ValueError as trouble:
        raise UsageError(f"{file} is not JSON: {trouble}.") from None
    if not isinstance(told, dict) or not isinstance(told.get("recorded_cases"), list) or not told["recorded_cases"]:
        raise UsageError(f"{file} holds no recorded_cases.")
    return told


@contextmanager
def _source(
    url: str, ca_file: Path | None, bootstrap: str | None, config: Path | None, every: float = 10.0
) -> Iterator[Callable[[], Any]]:
    import logging

    from kafka_trial.daemon.lag_asking import daemon, own_look, plan_for

    if bootstrap and config:
        raise UsageError("--bootstrap and --config both say where to look: give one of them.")
    if not bootstrap and not config:
        yield daemon(url, ca_file)
        return
    logging.getLogger().setLevel(logging.CRITICAL)  # what it has to say is in the table
    if config:
        from kafka_trial.daemon.config_file import load
        from kafka_trial.daemon.lag_building import plan_of
        from kafka_trial.daemon.lag_config import LagConfig

        plan = plan_of(load(config, LagConfig), config)
    else:
        plan = plan_for(bootstrap or "", every)
    with ExitStack() as ending:
        with progress() as say:
            say("looking")
            ask = ending.enter_context(own_look(plan))
        yield ask  # the line that says so is gone by now: two cannot draw on one screen


def _groups(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [group for cluster in found for group in cluster["groups"]]


def _table(found: list[dict[str, Any]], everything: bool, limit: int) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from lag_monitor.judge.words import span

    groups = _groups(found)
    shown = [group for group in groups if everything or group["gravity"] != "OK"]
    well = len(groups) - len([group for group in groups if group["gravity"] != "OK"])
    troubles = "".join(f"; {one['cluster']}: {one['trouble']}" for one in found if one.get("trouble"))
    more = f"; {len(shown) - limit} more" if len(shown) > limit else ""
    table = Table(box=None, title_justify="left", caption_justify="left", pad_edge=False)
    table.caption = f"{len(groups)} group{'' if len(groups) == 1 else 's'}, {well} OK{more}{troubles}"
    for name, justify in (("status", "left"), ("cluster", "left"), ("group", "left"), ("lag", "right"), ("behind", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("reason", overflow="fold")
    for group in shown[:limit]:
        behind = "" if group["seconds"] is None else span(group["seconds"])
        table.add_row(
            Text(group["status"], style=COLOURS[group["gravity"]]),
            *(Text(cell) for cell in (group["cluster"], group["group"], f"{group['lag']:,}", behind, group["reason"])),
        )
    return table
