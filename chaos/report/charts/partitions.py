"""A row per partition: who led it, how many replicas were in sync, and when it was dark."""

from dataclasses import dataclass

from markupsafe import Markup

from chaos.report.charts.backdrop import Backdrop
from chaos.report.svg import Frame, el, fitted, joined, title
from chaos.report.timeline import Leadership, Stretch
from chaos.report.words import seconds

ROW, LEAD, SYNC = 54, 16, 6  # heights: a row, its strip of leaders, its strip of replicas in sync
COLOURS = 8


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    lead: Leadership
    gaps: list[Stretch]  # what: how it is said
    note: str  # the gap and its bound, in words


def partitions(rows: list[Row], width: int, length: float, backdrop: Backdrop, words: str) -> Markup:
    frame = Frame(width, len(rows) * ROW + 26, length, top=0, telephone=width < 600)
    drawn = [_row(row, frame, number * ROW) for number, row in enumerate(rows)]
    return frame.picture(
        [backdrop.drawn(frame), *drawn, frame.time_axis()], name="Leaders and gaps per partition", words=words
    )


def _row(row: Row, frame: Frame, top: int) -> Markup:
    room = frame.right - frame.left - len(row.note) * 6.2
    name = el("text", fitted(row.name, room), class_="row-name", x=frame.left, y=top + 15)
    note = el("text", row.note, class_="row-note", x=frame.right, y=top + 15, text_anchor="end")
    strip = top + 23
    leaders = [_leader(row.name, one, frame, strip) for one in row.lead.leaders]
    in_sync = [_in_sync(row.name, one, frame, strip + LEAD + 2) for one in row.lead.in_sync]
    gaps = [_gap(row.name, gap, frame, strip) for gap in row.gaps]
    return joined([name, note, *leaders, *in_sync, *gaps])


def _leader(name: str, one: Stretch, frame: Frame, y: int) -> Markup:
    x, wide = _extent(one, frame)
    none = one.what is None or one.what == -1
    who = "no leader" if none else f"broker {one.what}"
    tip = title(f"{name}: {who}, {seconds(one.begin)} to {seconds(one.end)}")
    look = "leaderless" if none else f"broker b{abs(hash_of(one.what)) % COLOURS}"
    box = el("rect", tip, class_=look, x=x, y=y, width=wide, height=LEAD)
    return box + _label(who if wide > 60 else "–" if none else str(one.what), x, wide, y + LEAD - 4, "on-broker")


def _in_sync(name: str, one: Stretch, frame: Frame, y: int) -> Markup:
    x, wide = _extent(one, frame)
    there, wanted = one.what
    tip = title(f"{name}: {there} of {wanted} replicas in sync, {seconds(one.begin)} to {seconds(one.end)}")
    return el("rect", tip, class_="isr full" if there >= wanted else "isr short", x=x, y=y, width=wide, height=SYNC)


def _gap(name: str, gap: Stretch, frame: Frame, y: int) -> Markup:
    x, wide = _extent(gap, frame)
    tip = title(f"{name}: {gap.what}, {seconds(gap.begin)} to {seconds(gap.end)}")
    return el("rect", tip, class_="gap", x=x, y=y - 3, width=wide, height=LEAD + 6, rx=2)


def _extent(one: Stretch, frame: Frame) -> tuple[float, float]:
    x = frame.x(one.begin)
    return x, max(frame.x(min(one.end, frame.seconds)) - x, 1.0)


def _label(text: str, x: float, wide: float, y: float, look: str) -> Markup:
    if wide < len(text) * 6.5 + 4:
        return Markup("")
    return el("text", text, class_=look, x=x + 5, y=y)


def hash_of(node: object) -> int:
    """A broker keeps its colour in every chart of every run."""
    return node if isinstance(node, int) else sum(map(ord, str(node)))
