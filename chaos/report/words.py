"""Figures and settings in words, the same in the terminal, on the page and in CI."""

from collections.abc import Iterable
from typing import Any

LOSSES = ("lost-write", "unseen-write")  # both mean: acknowledged, and gone
STAGES = {
    "detect_s": "noticed",
    "elect_s": "leader elected",
    "first_success_s": "first success",
    "full_isr_s": "full ISR",
    "drained_s": "lag drained",
}
WITHOUT = {"send": "an acknowledgement", "poll": "a read"}


def seconds(value: float | None, *, censored: bool = False) -> str:
    """`≥` because a gap that never closed is only known to be at least so long."""
    if value is None:
        return "–"
    words = f"{value:.1f} s" if abs(value) >= 0.9995 or value == 0 else f"{value * 1000:.0f} ms"
    return f"≥ {words}" if censored else words


def clean(text: object) -> str:
    """On one line and without control characters: an error text must not move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "\ufffd" for letter in str(text))


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Iterable[object], *, most: int = 3) -> str:
    """`a, b, c and 4 more`: a list that cannot run away."""
    known = [str(word) for word in words]
    rest = len(known) - most
    return ", ".join(known) if rest <= 0 else f"{', '.join(known[:most])} and {rest} more"


def lost(verdict: dict[str, Any]) -> int:
    counts = verdict.get("counts") or {}
    return sum(int(counts.get(name, 0)) for name in LOSSES)


def gap_of(row: dict[str, Any]) -> str:
    return seconds(row.get("gap_s"), censored=bool(row.get("censored")))


def worst_gap(rows: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """A gap that never closed is worse than any that did."""
    measured = [row for row in rows if row.get("gap_s") is not None]
    return max(measured, key=lambda row: (bool(row.get("censored")), row["gap_s"]), default=None)


def longest_gap(verdict: dict[str, Any]) -> dict[str, Any] | None:
    """Of the sends, as a rule; of the reads where those were dark for far longer, or for good."""
    rows = verdict.get("recovery") or []
    sends, reads = (worst_gap(row for row in rows if row.get("kind") == kind) for kind in ("send", "poll"))
    if not sends or not reads:
        return sends or reads
    for_good = bool(reads.get("censored")) and not sends.get("censored")
    return reads if for_good or reads["gap_s"] > 2 * sends["gap_s"] else sends


def place(topic: object, partition: object) -> str:
    return f"{topic}-{partition}"


def mapping(value: object) -> dict[str, Any]:
    """A manifest may hold more than we know, in shapes we do not: what is no mapping tells us nothing."""
    return value if isinstance(value, dict) else {}


def setting(manifest: dict[str, Any]) -> list[str]:
    """The few settings that decide what Kafka promises: `3 brokers`, `acks=1`, …"""
    clients = [mapping(client) for client in mapping(manifest.get("clients")).values()]
    words = [brokers] if (brokers := _brokers(manifest.get("brokers"))) else []
    words += [f"acks={acks}" for acks in _distinct(clients, "acks")]
    words += ["idempotent"] if any(client.get("idempotence") is True for client in clients) else []
    words += [iso for iso in _distinct(clients, "isolation") if iso != "read_committed"]
    words += [f"group.protocol={protocol}" for protocol in _distinct(clients, "protocol") if protocol != "classic"]
    return words


def _brokers(brokers: object) -> str:
    number = len(brokers) if isinstance(brokers, list | dict) else brokers
    return plural(number, "broker") if isinstance(number, int) else ""


def _distinct(clients: list[dict[str, Any]], key: str) -> list[str]:
    return sorted({str(client[key]) for client in clients if client.get(key) is not None})
