"""The page's figures, each drawn twice: for a desk and for a telephone. The style sheet shows the one that fits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

from markupsafe import Markup

from chaos.report.buckets import Buckets
from chaos.report.charts.backdrop import STRIP, Backdrop
from chaos.report.charts.holdings import holdings as draw_holdings
from chaos.report.charts.lines import Series, ceiling, latency, short, throughput
from chaos.report.charts.offsets import Missing, offsets
from chaos.report.charts.partitions import Row, partitions
from chaos.report.svg import Frame
from chaos.report.timeline import Clock, Fault, Leadership, Stretch
from chaos.report.words import LOSSES, WITHOUT, gap_of, place, plural, seconds, worst_gap

WIDTHS = (1040, 340)
HALF = 500  # on a desk two partitions stand side by side
MOST_ROWS = 16  # partitions or consumers in one figure; the page says how many were left out
SHORTEST_GAP = 2  # buckets: shorter ones cannot be told from two records that were not sent at once

Key = tuple[str, int]
Verdict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    id: str
    heading: str
    drawings: Markup
    legend: list[tuple[str, str]] = field(default_factory=list)  # look, and what it means
    note: str = ""
    readout: dict[str, Any] = field(default_factory=dict)  # what the page's script reads out at a moment


def rates(buckets: Buckets, clock: Clock, backdrop: Backdrop) -> Figure:
    def per_second(counts: Iterable[int]) -> list[float | None]:
        return [count / buckets.width_s for count in counts]

    series = [
        Series("acked", "acknowledged", per_second(buckets.acked.tolist())),
        Series("read", "read", per_second(buckets.read.tolist())),
        Series("unclear", "failed or unknown", _risen(per_second(buckets.unclear.tolist()))),
    ]
    words = f"At most {buckets.acked.max() / buckets.width_s:.0f} acknowledged a second. {_quiet(buckets)}"
    return Figure(
        "rates",
        "Records per second",
        _twice(
            lambda width: throughput(
                series, _frame(width, 230, clock, top=STRIP + 2), backdrop, width_s=buckets.width_s, words=words
            )
        ),
        _legend(series),
        f"The closing drain is not counted.{_cut(series)}",
        _readout(series, buckets, "/s"),
    )


def latencies(buckets: Buckets, clock: Clock, backdrop: Backdrop) -> Figure:
    series = [
        Series("highest", "slowest", buckets.latency.maximum()),
        Series("p99", "99 %", buckets.latency.percentile(0.99)),
        Series("p50", "median", buckets.latency.percentile(0.5)),
    ]
    if buckets.delay:
        series.append(Series("delay", "sent later than scheduled (99 %)", buckets.delay.percentile(0.99)))
    peak = max((value for value in series[0].values if value is not None), default=0.0)
    words = f"The slowest acknowledgement took {seconds(peak)}."
    return Figure(
        "latency",
        "Time to an acknowledgement",
        _twice(
            lambda width: latency(series, _frame(width, 200, clock, top=0), backdrop, width_s=buckets.width_s, words=words)
        ),
        _legend(series),
        "At the moment of sending; logarithmic.",
        _readout(series, buckets, " s"),
    )


def leaders(
    leads: dict[Key, Leadership], buckets: Buckets, verdict: Verdict, faults: list[Fault], clock: Clock, backdrop: Backdrop
) -> Figure:
    chosen = shown(leads, verdict)
    rows = {key: _row_of(key, leads[key], verdict, faults, clock, SHORTEST_GAP * buckets.width_s) for key in chosen}
    words = "; ".join(f"{row.name}: {row.note}" for row in rows.values() if row.note) or "no gap was measured"
    drawings = _twice(
        lambda width: partitions([_fitting(row, width) for row in rows.values()], width, clock.end_s, _calm(backdrop), words)
    )
    legend = [("isr full", "full ISR"), ("isr short", "ISR short of a replica"), ("gap", "no acknowledgement")]
    return Figure(
        "leaders",
        "Leaders",
        drawings,
        legend,
        f"The thin strip shows the replicas in sync. {_left_out(len(leads), len(rows), 'partition')}",
        _strips(rows, buckets.width_s),
    )


def positions(buckets: Buckets, verdict: Verdict, clock: Clock, backdrop: Backdrop) -> list[Figure]:
    chosen = shown(buckets.tracks, verdict)
    return [
        Figure(
            f"offsets-{number}",
            place(*key),
            _twice(lambda width, key=key: _positions(key, width, buckets, verdict, clock, _calm(backdrop))),  # type: ignore[misc]
        )
        for number, key in enumerate(chosen)
    ]


def consumers(held: dict[str, list[Stretch]], clock: Clock, backdrop: Backdrop) -> Figure:
    rows = dict(list(held.items())[:MOST_ROWS])
    words = "; ".join(f"{client}: {plural(len(row), 'assignment')}" for client, row in rows.items())
    return Figure(
        "consumers",
        "Assignments",
        _twice(lambda width: draw_holdings(rows, width, clock.end_s, _calm(backdrop), words)),
        note=_left_out(len(held), len(rows), "consumer"),
    )


def shown(keys: Iterable[Key], verdict: Verdict) -> list[Key]:
    """Those with the longest gaps and with findings, if there are too many; always in their own order."""
    known = list(keys)
    gaps = {key: worst["gap_s"] for key, worst in _worst_by_partition(verdict).items()}
    found = {(finding.get("topic"), finding.get("partition")) for finding in verdict.get("findings") or ()}
    most = sorted(known, key=lambda key: (key not in found, -gaps.get(key, 0.0), key))[:MOST_ROWS]
    return sorted(most)


def _worst_by_partition(verdict: Verdict) -> dict[Key, dict[str, Any]]:
    rows = [row for row in verdict.get("recovery") or () if row.get("kind") == "send" and row.get("gap_s") is not None]

    def key(row: dict[str, Any]) -> Key:
        return str(row.get("topic")), int(row.get("partition") or 0)

    grouped = {name: worst_gap(mine) for name, mine in groupby(sorted(rows, key=key), key)}
    return {name: worst for name, worst in grouped.items() if worst}


def _row_of(key: Key, lead: Leadership, verdict: Verdict, faults: list[Fault], clock: Clock, shortest: float) -> Row:
    sends = [row for row in verdict.get("recovery") or () if row.get("kind") == "send"]
    mine = [row for row in sends if (row.get("topic"), row.get("partition")) == key]
    drawn = [_gap(row, faults, clock, shortest) for row in mine]
    return Row(place(*key), lead, [gap for gap in drawn if gap], _note(worst_gap(mine)))


def _note(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row.get("affected") is False and row.get("within") is not False:
        return f"no gap ({gap_of(row)})"
    bound = "" if row.get("bound_s") is None else f", bound {seconds(row['bound_s'])}"
    return f"{gap_of(row)} without {WITHOUT['send']}{bound}"


def _fitting(row: Row, width: int) -> Row:
    return row if width > 600 else Row(row.name, row.lead, row.gaps, row.note.replace(f" without {WITHOUT['send']}", ""))


def _gap(row: dict[str, Any], faults: list[Fault], clock: Clock, shortest: float) -> Stretch | None:
    fault, length, later = (
        next((one for one in faults if one.id == str(row.get("fault"))), None),
        row.get("gap_s"),
        row.get("gap_from_s"),
    )
    if fault is None or length is None or later is None or length < shortest:
        return None
    return clock.stretch(fault.begin + later, fault.begin + later + length, f"{gap_of(row)} without {WITHOUT['send']}")


def _positions(key: Key, width: int, buckets: Buckets, verdict: Verdict, clock: Clock, backdrop: Backdrop) -> Markup:
    gone = [finding for finding in verdict.get("findings") or () if finding.get("name") in LOSSES]
    missing = [
        Missing(int(finding["offset"]), f"{finding['name']} at {finding['offset']}: {finding.get('sentence', '')}")
        for finding in gone
        if (finding.get("topic"), finding.get("partition")) == key and finding.get("offset") is not None
    ]
    frame = _frame(HALF if width == WIDTHS[0] else width, 150, clock, top=8)
    return offsets(place(*key), buckets.tracks[key], frame, backdrop, width_s=buckets.width_s, missing=missing)


def _frame(width: int, height: int, clock: Clock, *, top: int) -> Frame:
    return Frame(width, height, clock.end_s, top=top, telephone=width == WIDTHS[1])


def _twice(draw: Callable[[int], Markup]) -> Markup:
    return Markup("").join(draw(width) for width in WIDTHS)


def _calm(backdrop: Backdrop) -> Backdrop:
    """Rows show each leader by themselves: lines for elections would only repeat it."""
    return Backdrop(faults=backdrop.faults)


def _legend(series: list[Series]) -> list[tuple[str, str]]:
    return [(f"line {one.name}", one.label) for one in series]


def _readout(series: list[Series], buckets: Buckets, unit: str) -> dict[str, Any]:
    return {
        "width": buckets.width_s,
        "unit": unit,
        "series": [
            {"label": one.label, "values": [None if value is None else round(value, 4) for value in one.values]}
            for one in series
        ],
    }


def _strips(rows: dict[Key, Row], width_s: float) -> dict[str, Any]:
    def told(row: Row) -> list[list[Any]]:
        return [
            [one.begin, one.end, "no leader" if one.what in (None, -1) else f"broker {one.what}"] for one in row.lead.leaders
        ]

    return {"width": width_s, "strips": [{"label": row.name, "stretches": told(row)} for row in list(rows.values())[:6]]}


def _quiet(buckets: Buckets) -> str:
    """The longest time in which no partition at all had an acknowledgement."""
    busy = [number for number, count in enumerate(buckets.acked.tolist()) if count]
    pairs = [(later - earlier, earlier) for earlier, later in pairwise(busy)]
    longest, begin = max(pairs, default=(0, 0))
    if longest <= SHORTEST_GAP:
        return "Some partition always had an acknowledgement."
    return f"None at all from {seconds((begin + 1) * buckets.width_s)} to {seconds((begin + longest) * buckets.width_s)}."


def _risen(values: list[float | None]) -> list[float | None]:
    """Without the long stretches of nothing: a line along the axis would only hide it."""
    padded = [None, *values, None]
    return [value if any(padded[place : place + 3]) else None for place, value in enumerate(values)]


def _cut(series: list[Series]) -> str:
    highest = max((value for one in series for value in one.values if value is not None), default=0.0)
    return "" if highest <= ceiling(series) else f" Bursts are cut off; the highest is {short(round(highest))} a second."


def _left_out(known: int, drawn: int, noun: str) -> str:
    return "" if known <= drawn else f"{drawn} of {plural(known, noun)} are drawn: those with findings and the longest gaps."
