"""What operators' tasks cost, partition by partition: a table from the newest run of each. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from chaos.pages.told import Told
from chaos.report.words import place, seconds

HEAD = (
    "operation",
    "scenario",
    "without an acknowledgement, by partition",
    "bound",
    "99th percentile, in quiet → during",
    "run",
)
MOST = 6  # partitions that are listed although nothing was done to them
UNJUDGED = "not judged"

Event = Mapping[str, Any]
Row = Mapping[str, Any]
Cost = tuple[str, str]  # what was seen, and what it is held against


def operations_page(scenarios: Collection[str], runs: Sequence[Told]) -> str:
    """`runs` are newest first. Only those that passed count: what a task costs when it is done wrong is another question.

    Empty if none did.
    """
    rows = []
    for name in scenarios:
        newest: dict[tuple[tuple[str, str], ...], Told] = {}
        for run in runs:
            if run.scenario == name and run.verdict.get("verdict") == "PASS":
                newest.setdefault(tuple(sorted(run.options.items())), run)
        for run in sorted(newest.values(), key=lambda run: sorted(run.options.items())):
            rows += _rows(run)
    return "".join(f"| {' | '.join(row)} |\n" for row in (HEAD, ["---"] * len(HEAD), *rows)) if rows else ""


def _rows(run: Told) -> list[list[str]]:
    kinds: dict[str, list[Event]] = defaultdict(list)
    for event in run.events:
        if event["event"] == "fault" and "fault" in event:
            kinds[str(event["fault"])].append(event)
    return [
        [
            kind,
            _scenario(run),
            *_cost(run, kind, faults),
            _latency(run, {str(fault["id"]) for fault in faults}),
            f"{run.day}, Kafka {run.kafka}",
        ]
        for kind, faults in kinds.items()
    ]


def _scenario(run: Told) -> str:
    told = [f"{name}={value}" for name, value in run.options.items() if name not in ("rate", "size")]
    return f"`{run.scenario}`" + (f" {' '.join(told)}" if told else "")


def _cost(run: Told, kind: str, faults: Sequence[Event]) -> Cost:
    ids = {str(fault["id"]) for fault in faults}
    rows = [row for row in run.verdict.get("recovery") or () if row["kind"] == "send" and row["fault"] in ids]
    touched = [row for row in rows if row.get("affected") is not False]
    if touched:
        return "<br>".join(_gaps(run, touched)), _bound(touched)
    if rows and not any(map(_reaches, faults)):
        return _untouched(run, rows), _bound(rows, " (noise)")
    failed_over = _fail_over(run) if kind == "lose-cluster" else None
    return failed_over or (f"not measured: {_why_not(run, faults)}", UNJUDGED)


def _gaps(run: Told, rows: Sequence[Row]) -> list[str]:
    """The worst of each partition, where a task has several steps."""
    worst: dict[str, tuple[bool, float]] = defaultdict(lambda: (False, 0.0))
    for row in rows:
        where = place(run.plain(str(row["topic"])), row["partition"])
        worst[where] = max(worst[where], _gap(row))
    return [f"{where} {seconds(gap, censored=censored)}" for where, (censored, gap) in sorted(worst.items())]


def _gap(row: Row) -> tuple[bool, float]:
    """One that never closed is worse than any that did."""
    return bool(row["censored"]), float(row["gap_s"])


def _untouched(run: Told, rows: Sequence[Row]) -> str:
    """That nobody notices is a promise too, and every partition was watched for it."""
    gaps = _gaps(run, rows)
    if len(gaps) <= MOST:
        return "<br>".join(["none touched:", *gaps])
    censored, gap = max(map(_gap, rows))
    return f"none touched; at most {seconds(gap, censored=censored)} on {len(gaps)} partitions"


def _bound(rows: Sequence[Row], of: str = "") -> str:
    bounds = sorted({float(row["bound_s"]) for row in rows if row.get("bound_s") is not None})
    return " to ".join(seconds(bound) for bound in dict.fromkeys((bounds[0], bounds[-1]))) + of if bounds else UNJUDGED


def _fail_over(run: Told) -> Cost | None:
    """A cluster that is lost has nobody left to send to it: what counts is when its group reads on at the mirror. That is in
    the words of the run's own expectation, of which the second half is what was seen."""
    said = [one for one in run.verdict.get("expectations") or () if one.get("name") == "fail-over time"]
    bound = [event["seconds"] for event in run.events if event["event"] == "fail-over-bound"]
    if not said or not bound:
        return None
    seen = str(said[-1]["sentence"]).rpartition("; ")[2].rstrip(".")
    return f"fail-over: {seen}", f"{seconds(float(bound[-1]))} (once the group is started)"


def _why_not(run: Told, faults: Sequence[Event]) -> str:
    """A fault answers for what it may touch, and for others only while no earlier one does: see chaos/recovery/charge.py."""
    if any(map(_reaches, faults)):
        return "nobody sent to what it may touch"
    earlier = dict.fromkeys(kind for fault in faults for kind in _under_way(run, fault))
    return f"counted with {' and '.join(earlier)}, under way then" if earlier else "no send of that time is charged to it"


def _reaches(fault: Event) -> bool:
    """Whether it may touch somebody; it may be anybody, where that is not known."""
    return fault.get("affected") != []


def _under_way(run: Told, fault: Event) -> list[str]:
    """The earlier ones that were not healed when it began, and may touch somebody."""
    healed = {event["id"]: int(event["t_ns"]) for event in run.events if event["event"] == "heal"}
    begin = int(fault["t_ns"])
    return [
        str(event.get("fault"))
        for event in run.events
        if event["event"] == "fault" and _reaches(event) and event["t_ns"] < begin < healed.get(event["id"], begin + 1)
    ]


def _latency(run: Told, ids: Collection[str]) -> str:
    rows = [row for row in run.verdict.get("latency") or () if row["fault"] in ids and row.get("during_p99_ms") is not None]
    if not rows:
        return "–"
    worst = max(rows, key=lambda row: float(row["during_p99_ms"]))
    quiet = "–" if worst.get("quiet_p99_ms") is None else f"{worst['quiet_p99_ms']:.0f} ms"
    return f"{quiet} → {worst['during_p99_ms']:.0f} ms"
