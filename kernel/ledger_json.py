"""One row of a ledger from a line of JSON, checked cell by cell: whoever writes one by hand learns what is wrong with it."""

import json
from typing import Any

from kernel.errors import UsageError
from kernel.ledger import COLUMNS

WORDS = {"str": "a string", "i64": "an integer of 64 bits", "i32": "an integer of 64 bits", "bool": "true or false"}


def json_row(where: str, line: str) -> dict[str, Any]:
    """`where` names file and line in a complaint."""
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise UsageError(f"{where} is not a JSON object: {line.strip()[:80]!r}.")
    for column, kind in COLUMNS.items():
        if not _fits(kind, row.get(column)):
            raise UsageError(f"{where}: {column} is {row[column]!r}, not {WORDS[kind]}.")
    return row


def _fits(kind: str, value: Any) -> bool:
    if value is None:
        return True
    if kind in ("i64", "i32"):
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return isinstance(value, str if kind == "str" else bool)
