"""A page of the documentation from what runs ended in: every scenario, what operations cost, what settings permit."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.options import Runs
from kernel.errors import UsageError

PAGES = {  # what each is made of, and the scenario that makes one
    "scenarios": ("run of any scenario", "leader-election"),
    "operations": ("run of an operator's task that passed", "add-broker"),
    "semantics": ("delivery matrix that was held to Kafka's own claim", "delivery-matrix"),
}
WHOLE = ("semantics",)  # nothing in it is by hand


def runs_page(
    name: Annotated[str, typer.Argument(metavar="PAGE", help=f"One of {', '.join(PAGES)}.")],
    directory: Runs = Path("runs"),
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FILE", help="Write it there, between its marks. Default: print.")
    ] = None,
) -> None:
    from chaos.pages.marked import replaced

    if name not in PAGES:
        raise UsageError(f"page {name!r} is not known: choose one of {', '.join(PAGES)}.", page=name)
    content = _page(name, directory)
    if not content:
        wanted, scenario = PAGES[name]
        raise UsageError(f"{directory} holds no {wanted}: make one by kafka-trial run {scenario}, or give another --runs.")
    if into is None:
        print(content, end="")
        return
    try:
        into.write_text(content if name in WHOLE else replaced(into.read_text(), name, content, file=str(into)))
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror}. Give a page that has the marks.", file=into)


def _page(name: str, directory: Path) -> str:
    from chaos.evidence.matrices import read_matrices
    from chaos.pages.operations import operations_page
    from chaos.pages.scenarios import scenarios_page
    from chaos.pages.semantics import semantics_page
    from chaos.pages.told import told
    from chaos.scenarios import FAMILIES

    runs = told(directory)
    if name == "scenarios":
        return scenarios_page(FAMILIES, runs)
    if name == "operations":
        return operations_page([*FAMILIES["operations"], "rolling-restart"], runs)
    return semantics_page(read_matrices(directory))
