"""Nights in words: `2026-11-17`, `yesterday`, `7d`, `2026-11-01..2026-11-14`. Pure: today is handed in."""

import re
from datetime import date, timedelta

from kernel.errors import UsageError

SPAN = ".."


def day(text: str, *, today: date, option: str = "--since") -> date:
    """A date, today, yesterday, or so many days ago."""
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    if (ago := re.fullmatch(r"(\d{1,5})d", word)) is not None:
        return today - timedelta(days=int(ago[1]))
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is not a day: give a date such as 2026-11-17, today, yesterday, or 7d for a week ago.",
            value=text,
        ) from None


def span(text: str) -> tuple[date, date]:
    """`A..B`, both included."""
    first, _, last = text.partition(SPAN)
    try:
        begin, end = date.fromisoformat(first.strip()), date.fromisoformat(last.strip())
    except ValueError:
        raise UsageError(
            f"--baseline {text!r} is neither a span of dates nor a report: give 2026-11-01..2026-11-14, or the "
            "report.json of an earlier report.",
            value=text,
        ) from None
    if begin > end:
        raise UsageError(f"--baseline {text!r} ends before it begins: give the earlier date first.", value=text)
    return begin, end
