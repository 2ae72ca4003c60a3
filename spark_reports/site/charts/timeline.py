"""One run over time: when it was broken, what was acknowledged and read, and which partitions were dark."""

from dataclasses import dataclass

from spark_reports.contents import FaultSpan, Lane, Mark, Timeline
from spark_reports.site.charts.distribution import fitted
from spark_reports.site.charts.trend import path
from spark_reports.site.scales import Axis, plain_axis, time_axis
from spark_reports.site.words import WITHOUT, grouped, plural, seconds

LEFT, TOP, RATES, GAP, LANE, FOOT = 46, 16, 130, 18, 36, 22
SHORTLY = {"send": "without acks", "poll": "without reads"}
NAMES = {"election": "a leader is elected", "lag": "the lag monitor speaks", "alert": "an alert fires"}


@dataclass(frozen=True, slots=True)
class Shade:
    x: float
    width: float
    bites: list[float]
    words: str


@dataclass(frozen=True, slots=True)
class Line:
    x: float
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Stretch:
    x: float
    width: float
    open: bool
    words: str


@dataclass(frozen=True, slots=True)
class LaneRow:
    y: float
    name: str
    note: str
    operation: str
    dark: list[Stretch]


@dataclass(frozen=True, slots=True)
class TimelineChart:
    width: int
    height: float
    x: Axis
    y: Axis | None
    acked: str
    read: str
    shades: list[Shade]
    lines: list[Line]
    lanes: list[LaneRow]
    words: str
    left: int = LEFT
    top: int = TOP

    @property
    def floor(self) -> float:
        return self.height - FOOT


def timeline_chart(timeline: Timeline, width: int) -> TimelineChart:
    x = time_axis(timeline.length_s, LEFT, width - 12, about=5 if width < 600 else 12)
    rates = [count / (timeline.bucket_s or 1.0) for count in (*timeline.acked, *timeline.read)]
    y = plain_axis(ceiling(rates), TOP + RATES, TOP, about=3) if any(rates) else None
    first = TOP + RATES + GAP if y else TOP
    lanes = [_lane(lane, x, first + LANE * number, width) for number, lane in enumerate(timeline.lanes)]
    return TimelineChart(
        width,
        first + LANE * len(lanes) + FOOT,
        x,
        y,
        acked=_line(timeline.acked, timeline.bucket_s, x, y),
        read=_line(timeline.read, timeline.bucket_s, x, y),
        shades=_shades(timeline.faults, x),
        lines=_lines(timeline.marks, x),
        lanes=lanes,
        words=_told(timeline),
    )


def ceiling(rates: list[float]) -> float:
    """What one burst reaches must not press everything else to the floor."""
    above = sorted(rate for rate in rates if rate > 0)
    if not above:
        return 1.0
    usual = above[int(0.95 * (len(above) - 1))] * 1.25
    return above[-1] if above[-1] <= 1.6 * usual else usual


def note(timeline: Timeline) -> str:
    rates = [count / (timeline.bucket_s or 1.0) for count in (*timeline.acked, *timeline.read)]
    if not any(rates):
        return "How many records a second is not known."
    cut = max(rates) > ceiling(rates)
    return f"Bursts are cut off; the highest is {grouped(round(max(rates)))} records a second." if cut else ""


def fault_words(fault: FaultSpan) -> str:
    bite = "never seen to bite" if fault.bite_s is None else f"seen to bite at {seconds(fault.bite_s)}"
    return f"begins at {seconds(fault.begin_s)}, {bite}, " + (
        "never healed" if fault.end_s is None else f"healed at {seconds(fault.end_s)}"
    )


def _line(counts: list[int], bucket: float, x: Axis, y: Axis | None) -> str:
    if y is None or not counts:
        return ""
    return path([(x.at((number + 0.5) * bucket), y.at(count / (bucket or 1.0))) for number, count in enumerate(counts)])


def _shades(faults: list[FaultSpan], x: Axis) -> list[Shade]:
    """Faults at the same time are one shade: three of them would hide what is drawn over them."""
    whole: list[tuple[float, float, list[FaultSpan]]] = []
    for fault in sorted(faults, key=lambda fault: fault.begin_s):
        begin, end = fault.begin_s, x.high if fault.end_s is None else fault.end_s
        if whole and begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end), [*whole[-1][2], fault])
        else:
            whole.append((begin, end, [fault]))
    return [
        Shade(
            x.at(begin),
            max(x.at(end) - x.at(begin), 1.5),
            [x.at(fault.bite_s) for fault in together if fault.bite_s is not None],
            "; ".join(f"{fault.sentence} ({fault_words(fault)})" for fault in together),
        )
        for begin, end, together in whole
    ]


def _lines(marks: list[Mark], x: Axis) -> list[Line]:
    """Marks of one kind closer than a few points are one line: a thousand leaders that move at once are one event."""
    together: dict[tuple[str, int], list[Mark]] = {}
    for mark in marks:
        together.setdefault((mark.kind, round(x.at(mark.at_s) / 4)), []).append(mark)
    return [
        Line(x.at(many[0].at_s), kind, f"{seconds(many[0].at_s)}: {_said(many)}") for (kind, _), many in together.items()
    ]


def _said(marks: list[Mark]) -> str:
    return marks[0].sentence if len(marks) == 1 else f"{marks[0].sentence} and {len(marks) - 1} more"


def _lane(lane: Lane, x: Axis, y: float, width: int) -> LaneRow:
    dark = [
        Stretch(
            x.at(one.begin_s),
            max(x.at(one.end_s) - x.at(one.begin_s), 1.5),
            one.open,
            f"{seconds(one.end_s - one.begin_s, open=one.open)} {WITHOUT[lane.operation]}, from {seconds(one.begin_s)}",
        )
        for one in lane.dark
    ]
    longest = max(lane.dark, key=lambda one: (one.open, one.end_s - one.begin_s), default=None)
    words = "no gap"
    if longest is not None:
        without = SHORTLY[lane.operation] if width < 600 else WITHOUT[lane.operation]
        words = f"{seconds(longest.end_s - longest.begin_s, open=longest.open)} {without}"
    name = _ends(f"{lane.topic}-{lane.partition}", (width - LEFT - 20 - len(words) * 6.4) / 7.4)
    return LaneRow(y, name, words, lane.operation, dark)


def _ends(text: str, letters: float) -> str:
    """A partition's number stands last and must stay."""
    most = max(int(letters), 8)
    return text if len(text) <= most else f"{fitted(text, most - 7)}{text[-6:]}"


def _told(timeline: Timeline) -> str:
    counted = [
        f"{plural(number, noun)}" for number, noun in ((len(timeline.faults), "fault"), (len(timeline.lanes), "lane"))
    ]
    words = f"A run of {seconds(timeline.length_s)} with {' and '.join(counted)} of partitions."
    for fault in timeline.faults[:3]:
        words += f" {fault.sentence}: {fault_words(fault)}."
    return words
