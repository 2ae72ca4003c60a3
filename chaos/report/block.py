"""The block printed at the end of a run. A person reads it in a terminal, so a line that says nothing is left out."""

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from chaos.report.fold import fold
from chaos.report.words import STAGES, WITHOUT, clean, gap_of, longest_gap, lost, place, plural, seconds, setting, worst_gap
from kernel.verdict import ANOMALIES

if TYPE_CHECKING:
    from rich.text import Text

INDENT = 6
MOST_LINES = 5  # of one anomaly; the rest is counted
ALLOWED = "allows it"  # how the contract ends where a setting explains what was seen
FELT = 2  # times the latency of quiet traffic; less than that is this machine's mood
SEND_STAGES = ("detect_s", "elect_s", "first_success_s", "full_isr_s")
MARKS = {True: "✓", False: "✗", None: "?"}
COLOURS = {"PASS": "bold green", "FAIL": "bold red", "INCONCLUSIVE": "bold yellow"}


class Entry(NamedTuple):
    label: str  # what it is about: stands once, above its entries
    lead: str  # the place, the setting: what follows hangs beside it
    text: str


def verdict_block(verdict: dict[str, Any], manifest: dict[str, Any], *, width: int = 100) -> str:
    parts = (_findings, _reasons, _recovery, _latency, _expectations, _contract, _permitted)
    entries = [entry for part in parts for entry in part(verdict)]
    scenario = clean(verdict.get("scenario") or manifest.get("scenario") or "run")
    room = max(len(label) for label in (scenario, *(entry.label for entry in entries))) + 2
    margin = max(INDENT, len(verdict["verdict"]) + 2)
    lines = _wrapped(f"{verdict['verdict']:<{margin}}{scenario:<{room}}", _facts(verdict, manifest), width)
    shown = ""
    for label, lead, text in entries:
        lines += _wrapped(f"{'':{margin}}{'' if label == shown else label:<{room}}{clean(lead)}", text, width)
        shown = label
    return "\n".join(lines)


def styled(block: str) -> "Text":
    """For a terminal that has colours: the verdict stands out, the text stays as it is."""
    from rich.text import Text

    text = Text(block)
    word = block.split(maxsplit=1)[0] if block else ""
    text.stylize(COLOURS.get(word, "bold"), 0, len(word))
    return text


def _facts(verdict: dict[str, Any], manifest: dict[str, Any]) -> str:
    facts = setting(manifest)
    if verdict.get("acknowledged") is not None:
        facts.append(f"{verdict['acknowledged']} acknowledged")
    facts.append(f"{lost(verdict)} lost")
    if gap := longest_gap(verdict):
        facts.append(f"{gap_of(gap)} without {WITHOUT.get(gap.get('kind', ''), 'success')}")
    return ", ".join(facts)


def _findings(verdict: dict[str, Any]) -> Iterator[Entry]:
    permitted = set(verdict.get("permitted") or ())
    found = [finding for finding in verdict.get("findings") or () if finding.get("name") not in permitted]
    for name, folds in groupby(fold(found), key=lambda one: one.name):
        shown = list(folds)
        for one in shown[:MOST_LINES]:
            yield Entry(name, f"{one.where}   ", one.sentence)
        told = sum(len(one.findings) for one in shown[:MOST_LINES])
        if (rest := int((verdict.get("counts") or {}).get(name, told)) - told) > 0:
            yield Entry(name, "", f"… and {rest} more")


def _reasons(verdict: dict[str, Any]) -> Iterator[Entry]:
    """Those that the findings above or the expectations below do not tell anyway."""
    told = [f"({finding.get('name')})" for finding in verdict.get("findings") or ()]
    told += [str(one["sentence"]) for one in verdict.get("expectations") or () if one.get("sentence")]
    for reason in verdict.get("reasons") or ():
        if not any(words in str(reason) for words in told):
            yield Entry("because", "", str(reason))


def _recovery(verdict: dict[str, Any]) -> Iterator[Entry]:
    rows = verdict.get("recovery") or []
    for kind, stages in (("send", SEND_STAGES), ("poll", ("drained_s",))):
        if worst := worst_gap(row for row in rows if row.get("kind") == kind and row.get("affected") is not False):
            yield Entry("recovery", "", _gap_sentence(worst))
            reached = [f"{STAGES[key]} {seconds(worst[key])}" for key in stages if worst.get(key)]
            if reached:
                yield Entry("recovery", "  ", f"{', '.join(reached)} after the fault")
    words = _untouched([row for row in rows if row.get("affected") is False])
    if words and not any(words.split()[0] in str(reason) for reason in verdict.get("reasons") or ()):
        yield Entry("recovery", "", words)


def _latency(verdict: dict[str, Any]) -> Iterator[Entry]:
    """The slowest of all faults, and only if those who were served felt it."""
    told = [row for row in verdict.get("latency") or () if row.get("during_p99_ms") and row.get("quiet_p99_ms")]
    worst = max(told, key=lambda row: float(row["during_p99_ms"]), default=None)
    if worst and worst["during_p99_ms"] > FELT * worst["quiet_p99_ms"]:
        quiet, during = seconds(worst["quiet_p99_ms"] / 1000), seconds(worst["during_p99_ms"] / 1000)
        yield Entry(
            "latency", "", f"99 % of what was acknowledged took up to {during} during {worst['fault']}, {quiet} in quiet"
        )


def _gap_sentence(row: dict[str, Any]) -> str:
    words = f"{place(row.get('topic'), row.get('partition'))} was {gap_of(row)} without {WITHOUT[row['kind']]}"
    if row.get("bound_s") is not None:
        words += f", bound {seconds(row['bound_s'])}"
    return words if row.get("within") is None else f"{words} {MARKS[row['within']]}"


def _untouched(rows: list[dict[str, Any]]) -> str:
    """Partitions that the fault should leave alone: one line, or the one that was not left alone."""
    if over := worst_gap(row for row in rows if row.get("within") is False):
        return f"{_gap_sentence(over)}, though the fault should not touch it"
    worst = worst_gap(rows)
    if worst is None:
        return ""
    who = plural(len({(row.get("topic"), row.get("partition")) for row in rows}), "unaffected partition")
    if worst.get("bound_s") is None:
        return f"{who}: at most {gap_of(worst)} without {WITHOUT[worst['kind']]}"
    return f"{who}: no gap beyond {seconds(worst['bound_s'])} ✓"


def _expectations(verdict: dict[str, Any]) -> Iterator[Entry]:
    for one in verdict.get("expectations") or ():
        yield Entry("expected", f"{MARKS[one.get('holds')]} ", str(one.get("sentence") or one.get("name")))


def _contract(verdict: dict[str, Any]) -> Iterator[Entry]:
    """Settings under which something was seen, in full; those that were merely kept, by name."""
    rows = [(f"{row.get('setting')}={row.get('value')}", row) for row in verdict.get("contract") or ()]
    telling = [(name, row) for name, row in rows if _telling(row, [row for _, row in rows])]
    room = max((len(name) for name, _ in telling), default=0) + 2
    for name, row in telling:
        yield Entry("contract", f"{name:<{room}}", f"{row.get('promise')} → {row.get('observed')}")
    if kept := [name for name, row in rows if not _seen(row)]:
        yield Entry("contract", "kept: ", ", ".join(kept))


def _seen(row: dict[str, Any]) -> str:
    """`4 acknowledged records lost`, or nothing if nothing was."""
    seen = str(row.get("observed") or "").partition(":")[0]
    return seen if seen[:1].isdigit() else ""


def _telling(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """What one setting allows need not be said of the others that do not explain it."""
    allowing = {_seen(other) for other in rows if str(other.get("observed")).endswith(ALLOWED)}
    return bool(_seen(row)) and (str(row.get("observed")).endswith(ALLOWED) or _seen(row) not in allowing)


def _permitted(verdict: dict[str, Any]) -> Iterator[Entry]:
    counts = verdict.get("counts") or {}
    for name in verdict.get("permitted") or ():
        if counts.get(name):
            yield Entry("permitted", f"{name}  ", f"{counts[name]} found: {ANOMALIES.get(name, 'unknown')}")


def _wrapped(lead: str, text: str, width: int) -> list[str]:
    """The text hangs beside its lead, and is never squeezed into less than a few words."""
    room = max(width, len(lead) + 30)
    hang = " " * len(lead)
    wrapped = textwrap.wrap(clean(text), room, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)
    return wrapped or [lead.rstrip()]
