"""A daemon's TOML file as checked values, or one sentence that names the file, the key and what is wrong with it."""

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from kernel.cluster import ClusterAddress
from kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel, ValidationError

    from kafka_trial.daemon.tables import Kafka, Login

    M = TypeVar("M", bound=BaseModel)

RELATIVE = ("_file", "_dir")  # keys whose values are paths, seen from the folder of the configuration file


def load(file: Path, model: "type[M]") -> "M":
    from pydantic import ValidationError

    try:
        told = tomllib.loads(file.read_text())
    except FileNotFoundError:
        raise UsageError(f"there is no configuration file {file}.") from None
    except (OSError, UnicodeDecodeError) as trouble:
        raise UsageError(f"{file} cannot be read: {getattr(trouble, 'strerror', None) or 'it is not text'}.") from None
    except tomllib.TOMLDecodeError as trouble:
        raise UsageError(f"{file} is not TOML: {trouble}.") from None
    try:
        return model.model_validate(_seen_from(file.parent, told))
    except ValidationError as trouble:
        raise UsageError(f"{file}: {_first(trouble, model)}.") from None


def user_and_password(login: "Login | None") -> tuple[str, str]:
    return (login.username, secret(login.password_file, login.password_env)) if login else ("", "")


def address_of(kafka: "Kafka") -> ClusterAddress:
    username, password = user_and_password(kafka.login)
    files = {"ca_file": kafka.ca_file, "certificate_file": kafka.cert_file, "key_file": kafka.key_file}
    return ClusterAddress(
        kafka.bootstrap,
        kafka.protocol,
        **{name: str(file) if file else None for name, file in files.items()},
        sasl_mechanism=kafka.sasl_mechanism,
        username=username or None,
        password=password or None,
    )


def secret(file: Path | None, variable: str | None, what: str = "password") -> str:
    """Without the end of its line."""
    if file is not None:
        try:
            return file.read_text().rstrip("\n")
        except (OSError, UnicodeDecodeError) as trouble:
            why = getattr(trouble, "strerror", None) or "it is not text"
            raise UsageError(f"the {what} file {file} cannot be read: {why}.") from None
    found = os.environ.get(variable or "")
    if found is None:
        article = "an" if what[0] in "aeiou" else "a"
        raise UsageError(f"the environment variable {variable}, which should hold {article} {what}, is not set.")
    return found


def _seen_from(folder: Path, told: Any) -> Any:
    if isinstance(told, list):
        return [_seen_from(folder, entry) for entry in told]
    if not isinstance(told, dict):
        return told
    return {
        key: str(folder / value) if key.endswith(RELATIVE) and isinstance(value, str) else _seen_from(folder, value)
        for key, value in told.items()
    }


def _first(trouble: "ValidationError", model: "type[BaseModel]") -> str:
    """The first of all mistakes: mended one by one, each gets its own sentence."""
    error = trouble.errors(include_url=False)[0]
    where = ".".join(f"[{part}]" if isinstance(part, int) else str(part) for part in error["loc"]).replace(".[", "[")
    if error["type"] == "extra_forbidden":
        return f"the key {where} is not known: choose one of {', '.join(_known(model, error['loc'][:-1]))}"
    if error["type"] == "missing":
        return f"{where} is missing"
    said = error["msg"].removeprefix("Value error, ")
    if not where:
        return said
    given = error.get("input")
    shown = f" = {given!r}" if isinstance(given, (str, int, float, bool)) else ""
    return f"{where}{shown}: {said[0].lower()}{said[1:]}"


def _known(model: "type[BaseModel]", where: "Sequence[int | str]") -> list[str]:
    """The keys of the table that is found at `where`; a number there is a place in a list of tables, and a word that is no
    key is the type that says which of several kinds of tables it is."""
    tables = [model]
    for name in (part for part in where if isinstance(part, str)):
        if name in tables[0].model_fields:
            tables = _tables_in(tables[0].model_fields[name].annotation)
        else:
            tables = [table for table in tables if name in get_args(table.model_fields["type"].annotation)]
    return list(tables[0].model_fields)


def _tables_in(annotation: Any) -> "list[type[BaseModel]]":
    """The tables that a key may hold, be it optional, one of a list, or one of several kinds."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    parts = (part for part in get_args(annotation) if part not in (type(None), ...))
    return [table for part in parts for table in _tables_in(part)]
