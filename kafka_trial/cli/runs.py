"""List the runs that are kept, remove those that are no longer needed, and tell Prometheus of them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli import runs_exporter, runs_page
from kafka_trial.cli.options import AsJson, Runs
from kafka_trial.cli.screen import complain, out
from kernel.errors import SuiteError, UsageError

if TYPE_CHECKING:
    from chaos.report.shelf import Criteria, Entry

runs = typer.Typer(help=__doc__, no_args_is_help=True, rich_markup_mode=None)
runs.command("exporter", help=runs_exporter.__doc__)(runs_exporter.runs_exporter)
runs.command("page", help=runs_page.__doc__)(runs_page.runs_page)


@runs.command("list")
def list_runs(directory: Runs = Path("runs"), as_json: AsJson = False) -> None:
    """Show every run, newest first; a damaged one is shown as such."""
    from chaos.report.shelf import entries

    shelf = entries(directory)
    if as_json:
        print(json.dumps([_facts(entry) for entry in shelf], indent=1))
        return
    if not shelf:
        out.print(f"No run in {directory}.", markup=False)
    for line in _lines([_cells(entry) for entry in shelf]):
        out.print(line, markup=False)
    for entry in shelf:
        if entry.trouble:
            complain(f"damaged: {entry.trouble}")


@runs.command()
def prune(
    directory: Runs = Path("runs"),
    keep: Annotated[int | None, typer.Option("--keep", metavar="N", help="The newest N of each scenario stay.")] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="What is older goes: 36h, 14d, 8w.")
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option("--max-size", metavar="SIZE", help="All that stays fits in this, 10g; what passed goes first."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove runs by any criterion. The newest failing run of a scenario stays, unless --max-size needs its place."""
    from datetime import UTC, datetime

    from chaos.report.shelf import chosen, entries, human_size, remove

    criteria = _criteria(keep, older_than, max_size)
    going = chosen(entries(directory), criteria, datetime.now(UTC))
    failed = False
    for entry in going:
        try:
            if not dry_run:
                remove(directory, entry)
            out.print(
                f"{'would remove' if dry_run else 'removed'} {entry.path}  {entry.standing}, {human_size(entry.size)}",
                markup=False,
            )
        except SuiteError as error:
            failed = True
            complain(error.message)
    out.print(
        _total(len(going), sum(entry.size for entry in going), dry_run) if not failed else "Some could not be removed."
    )
    raise typer.Exit(SuiteError.exit_code if failed else 0)


def _criteria(keep: int | None, older_than: str | None, max_size: str | None) -> "Criteria":
    from chaos.report.shelf import Criteria, parse_age, parse_size

    if keep is None and older_than is None and max_size is None:
        raise UsageError("prune needs to be told what may go: give --keep, --older-than or --max-size.")
    if keep is not None and keep < 0:
        raise UsageError(f"keep {keep} is less than none: give how many runs of each scenario should stay.", value=keep)
    return Criteria(
        keep,
        None if older_than is None else parse_age(older_than),
        None if max_size is None else parse_size(max_size),
    )


def _total(number: int, size: int, dry_run: bool) -> str:
    from chaos.report.shelf import human_size

    if not number:
        return "Nothing to remove."
    return f"{number} run{'s' if number != 1 else ''}, {human_size(size)}{' would be freed' if dry_run else ' freed'}."


def _facts(entry: "Entry") -> dict[str, Any]:
    return {
        "path": str(entry.path),
        "started": entry.started.isoformat(),
        "scenario": entry.scenario,
        "run_id": entry.run_id,
        "verdict": entry.standing,
        "acknowledged": entry.acknowledged,
        "lost": entry.lost,
        "longest_gap": entry.gap,
        "bytes": entry.size,
        "trouble": entry.trouble,
    }


def _cells(entry: "Entry") -> list[str]:
    from chaos.report.shelf import human_size
    from chaos.report.words import clean

    figures = [entry.acknowledged, entry.lost, entry.gap]
    told = ["–" if figure is None else str(figure) for figure in figures]
    when = entry.started.strftime("%Y-%m-%d %H:%M")
    return [when, clean(entry.scenario), clean(entry.run_id), entry.standing, *told, human_size(entry.size)]


def _lines(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    rows = [["started", "scenario", "run", "verdict", "acknowledged", "lost", "longest gap", "size"], *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded = [
        [
            cell.rjust(width) if column > 3 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]
    return ["  ".join(row) for row in padded]
