"""A ledger's files, looked at from outside: which there are, what columns they have, whether Spark reads them as they are.

Only footers are read, so that a file that is cut off, or a column of the wrong type, is told of before Spark begins.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernel.errors import UsageError
from kernel.ledger import COLUMNS

REQUIRED = ("client", "op", "kind", "outcome")
WORDS = {"str": "a string", "i64": "an integer", "i32": "an integer", "bool": "a boolean"}
FOREIGN_CODECS = {"BROTLI", "LZO"}  # Arrow reads them, or may; Spark needs jars of its own for them
FOREIGN_ENCODINGS = {"BYTE_STREAM_SPLIT"}  # Spark's reader has none for integers


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """`columns` are those of the ledger that hold something. One that is not `plain` is read on the driver."""

    path: Path
    address: str  # as Hadoop spells it; links are followed, because Hadoop takes `..` for a matter of spelling
    columns: frozenset[str]
    plain: bool


def ledger_files(ledger: Path) -> list[LedgerFile]:
    """In order of name, without those that hold no row."""
    paths, home = _paths(ledger), ledger.resolve()
    found = (_looked_at(path, f"{home}/{path.name}") for path in paths)
    return [file for file in found if file is not None]


def _paths(ledger: Path) -> list[Path]:
    """Parquet and JSON lines; what begins with a dot or an underscore is somebody's marker or draft."""
    there = sorted(ledger.iterdir()) if ledger.is_dir() else []
    paths = [path for path in there if path.suffix in (".parquet", ".jsonl") and path.name[0] not in "._"]
    if not paths:
        raise UsageError(f"{ledger} holds no *.parquet and no *.jsonl: a run folder's ledger has at least one.")
    return paths


def _looked_at(path: Path, address: str) -> LedgerFile | None:
    if path.suffix == ".jsonl":
        return LedgerFile(path, address, frozenset(COLUMNS), plain=False)
    try:
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise cut_off(path, error)
    _check_types(path, schema)
    if not footer.num_rows:
        return None
    for column in REQUIRED:
        if column not in schema.names:
            raise UsageError(f"{path} has no column {column}: every row needs one.")
    filled = frozenset(name for name in schema.names if name in COLUMNS and not pa.types.is_null(schema.field(name).type))
    plain = ":" not in path.name and _plain(footer, schema, filled)  # Hadoop takes what stands before a colon for a scheme
    return LedgerFile(path, address, filled, plain)


def cut_off(path: Path, error: BaseException) -> UsageError:
    return UsageError(f"{path} cannot be read as Parquet, is it cut off? {first_line(error)}.")


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _check_types(path: Path, schema: Any) -> None:
    fits = {"str": _is_text, "i64": pa.types.is_integer, "i32": pa.types.is_integer, "bool": pa.types.is_boolean}
    for column, kind in COLUMNS.items():
        if schema.names.count(column) > 1:
            raise UsageError(f"{path} has the column {column} {schema.names.count(column)} times.")
        if column in schema.names:
            found = schema.field(column).type
            if not fits[kind](found) and not pa.types.is_null(found):
                raise UsageError(f"{path}: column {column} is {found}, not {WORDS[kind]}.")


def _is_text(found: Any) -> bool:
    if pa.types.is_dictionary(found):
        return _is_text(found.value_type)
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))


def _plain(footer: Any, schema: Any, columns: frozenset[str]) -> bool:
    """Spark has no unsigned 64 bits, fewer codecs than Arrow, and does not tell `op` from `Op`."""
    if any(schema.field(column).type == pa.uint64() for column in columns):
        return False
    lowered = [name.lower() for name in schema.names]
    if any(lowered.count(column) > 1 for column in columns):
        return False
    chunks = [footer.row_group(0).column(number) for number in range(footer.num_columns)]
    return not any(c.compression in FOREIGN_CODECS or FOREIGN_ENCODINGS.intersection(c.encodings) for c in chunks)
