"""What the rows come to: the worst of them, their sum, and a sentence for each that is out of bounds."""

from typing import Any

Row = dict[str, Any]


def worst(rows: list[Row]) -> Row | None:
    """The longest gap; one that never closed is longer than any that did."""
    return max(rows, key=lambda row: (row["censored"], row["gap_s"]), default=None)


def error_budget(rows: list[Row], kind: str | None = None) -> float:
    """Partition-seconds of darkness, for one kind of operation or for both: the longest gap of every row, added up."""
    return float(sum(row["gap_s"] for row in rows if kind in (None, row["kind"])))


def reasons(rows: list[Row]) -> list[str]:
    """One sentence for every row that was judged and is not within its bound, the longest gap first."""
    out = [row for row in rows if row["within"] is False]
    return [_sentence(row) for row in sorted(out, key=lambda row: (row["censored"], row["gap_s"]), reverse=True)]


def _sentence(row: Row) -> str:
    what = {"send": "no send was acknowledged", "poll": "no new record was read"}[row["kind"]]
    sign, close = ("≥ ", " and to the end of the run") if row["censored"] else ("", "")
    length = f"for {sign}{_seconds(row['gap_s'])}{close}"
    bound = f"bound {_seconds(row['bound_s'])} ({row['why']})"
    return f"{row['topic']}-{row['partition']}: {what} {length} after {row['fault']}, {bound}."


def _seconds(length: float) -> str:
    return f"{length:.1f} s" if length >= 1 else f"{length:.3f} s"
