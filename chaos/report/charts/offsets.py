"""How far acknowledgements and reads had come in one partition; what lies between them is the backlog."""

from dataclasses import dataclass

from markupsafe import Markup

from chaos.report.buckets import Track, reach
from chaos.report.charts.backdrop import Backdrop
from chaos.report.charts.lines import short
from chaos.report.rows import NONE, Ints
from chaos.report.svg import Frame, Scale, area, el, linear, path, steps, ticks, title

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Missing:
    """An acknowledged record that is not in the log any more."""

    offset: int
    words: str


def offsets(name: str, track: Track, frame: Frame, backdrop: Backdrop, *, width_s: float, missing: list[Missing]) -> Markup:
    acked, read = reach(track.acked_to), reach(track.read_to)
    ends = [int(positions[-1]) for positions in (acked, read) if positions[-1] != NONE] + [track.drained or 0, 1]
    scale = linear(0.0, max(ends) * 1.05, frame.floor, frame.top)
    levels = [frame.level(scale(mark), short(mark)) for mark in ticks(0.0, max(ends), 3)]
    upper, lower = _points(acked, frame, scale, width_s), _points(read, frame, scale, width_s)
    lines = [
        el("path", class_="backlog", d=_backlog(upper, lower)),
        el("path", class_="line acked", d=path(steps(upper))),
        el("path", class_="line read", d=path(steps(lower))),
    ]
    marks = [_missing(one, acked, frame, scale, width_s) for one in missing]
    parts = [backdrop.drawn(frame), *levels, *lines, _drained(track, frame, scale), *marks, frame.time_axis()]
    return frame.picture(parts, name=f"Positions in {name} over time", words=_words(track, acked, read, missing))


def _points(positions: Ints, frame: Frame, scale: Scale, width_s: float) -> list[Point | None]:
    return [
        None if position == NONE else (frame.x(min((number + 1) * width_s, frame.seconds)), scale(position))
        for number, position in enumerate(positions.tolist())
    ]


def _backlog(upper: list[Point | None], lower: list[Point | None]) -> str:
    """Only where something was acknowledged; what nobody has read yet reaches down to the first position."""
    known = [(high, low) for high, low in zip(upper, lower, strict=True) if high is not None]
    if not known:
        return ""
    base = next((low[1] for _, low in known if low is not None), known[0][0][1])
    return area([high for high, _ in known], [low or (high[0], base) for high, low in known])


def _drained(track: Track, frame: Frame, scale: Scale) -> Markup:
    if track.drained is None:
        return Markup("")
    tip = title(f"the closing reader stood at the log end, {track.drained}")
    return el("circle", tip, class_="drained", cx=frame.right, cy=scale(track.drained), r=3.5)


def _missing(one: Missing, acked: Ints, frame: Frame, scale: Scale, width_s: float) -> Markup:
    """At the moment at which acknowledgements passed it."""
    passed = int((acked > one.offset).argmax())
    x = frame.x(min((passed + 1) * width_s, frame.seconds))
    return el("circle", title(one.words), class_="missing", cx=x, cy=scale(one.offset), r=4.5)


def _words(track: Track, acked: Ints, read: Ints, missing: list[Missing]) -> str:
    far = [
        f"{word} to {positions[-1]}"
        for word, positions in (("acknowledged", acked), ("read", read))
        if positions[-1] != NONE
    ]
    drained = [] if track.drained is None else [f"drained to {track.drained}"]
    lost = [f"{len(missing)} missing"] if missing else []
    return ", ".join([*far, *drained, *lost]) or "nothing written"
