"""A notice in words, for those channels that people read. Pure.

Names of groups come from strangers: whatever is not printable is shown as an escape, so that no line, header or direction of
writing is theirs to choose.
"""

from lag_monitor.alerts.notices import Kind, Notice

LONGEST = 300


def shown(text: str, most: int = LONGEST) -> str:
    safe = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return safe if len(safe) <= most else safe[: most - 1] + "…"


def lasting(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, name, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def headline(notice: Notice) -> str:
    who, after = f"{shown(notice.group, 100)} on {shown(notice.cluster, 60)}", lasting(notice.at - notice.opened_at)
    if notice.kind is Kind.CLOSE:
        return f"resolved: {who}, after {after}"
    if notice.kind is Kind.OPEN or not notice.previous:
        return f"{notice.status}: {who}"
    if notice.previous != notice.status:
        return f"now {notice.status}, was {notice.previous}: {who}, for {after}"
    return f"still {notice.status}: {who}, for {after}"


def facts(notice: Notice) -> list[tuple[str, str]]:
    """What is known, as pairs of a name and a value."""
    behind = f"{notice.lag} records" + ("" if notice.seconds is None else f", {lasting(notice.seconds)}")
    told = [("cluster", shown(notice.cluster)), ("group", shown(notice.group)), ("status", notice.status)]
    told += [("reason", shown(notice.reason, 1000)), ("lag", behind), ("route", shown(notice.route))]
    return [*told, ("incident", notice.incident)]


def partitions(notice: Notice) -> list[str]:
    return [f"{shown(p.topic)}-{p.partition}: {p.status}, lag {p.lag}. {shown(p.reason)}" for p in notice.partitions]
