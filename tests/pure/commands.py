"""One command, called as the command line calls it: its exit code and what it printed, errors as the sentence shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.testing import CliRunner

from kafka_trial.cli.screen import complain
from kernel.errors import SuiteError


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


def ran(command: Callable[..., Any], *words: object, env: Mapping[str, str] | None = None) -> Ran:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    def told(*args: Any, **more: Any) -> Any:
        try:
            return command(*args, **more)
        except SuiteError as error:
            complain(error.message)
            raise typer.Exit(error.exit_code) from None

    told.__signature__ = __import__("inspect").signature(command)  # type: ignore[attr-defined]
    told.__annotations__ = command.__annotations__
    app.command()(told)
    result = CliRunner().invoke(app, [str(word) for word in words], env=dict(env or {}))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)
