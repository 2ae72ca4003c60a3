"""The part of a page that is written by a program, between two marks; whatever people wrote around it stays. Pure."""

from kernel.errors import UsageError


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `kafka-trial runs page {name}` -->", f"<!-- {name}: end -->"


def replaced(page: str, name: str, content: str, *, file: str) -> str:
    begin, end = marks(name)
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise UsageError(f"{file} has no lines {begin!r} and {end!r} to write between: put them where the part belongs.")
    return f"{before}{begin}\n{content.strip()}\n{end}{after}"
