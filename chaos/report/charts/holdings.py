"""A row per consumer: which partitions it held, and when it held none while its group rebalanced."""

from markupsafe import Markup

from chaos.report.charts.backdrop import Backdrop
from chaos.report.svg import Frame, el, fitted, joined, title
from chaos.report.timeline import Stretch
from chaos.report.words import listed, seconds

ROW, BAR = 40, 16


def holdings(rows: dict[str, list[Stretch]], width: int, length: float, backdrop: Backdrop, words: str) -> Markup:
    frame = Frame(width, len(rows) * ROW + 26, length, top=0, telephone=width < 600)
    drawn = [_row(client, held, frame, number * ROW) for number, (client, held) in enumerate(rows.items())]
    return frame.picture([backdrop.drawn(frame), *drawn, frame.time_axis()], name="Assignments per consumer", words=words)


def _row(client: str, held: list[Stretch], frame: Frame, top: int) -> Markup:
    name = el("text", fitted(client, frame.right - frame.left), class_="row-name", x=frame.left, y=top + 14)
    return joined([name, *(_bar(client, one, frame, top + 20) for one in held)])


def _bar(client: str, one: Stretch, frame: Frame, y: int) -> Markup:
    x = frame.x(one.begin)
    wide = max(frame.x(one.end) - x, 1.0)
    tip = title(f"{client} held {listed(one.what, most=12)}, {seconds(one.begin)} to {seconds(one.end)}")
    box = el("rect", tip, class_="held", x=x, y=y, width=wide, height=BAR, rx=2)
    text = next((text for text in _labels(one.what) if len(text) * 6.4 + 8 < wide), "")
    return box + (el("text", text, class_="on-held", x=x + 5, y=y + BAR - 4) if text else Markup(""))


def _labels(names: tuple[str, ...]) -> list[str]:
    """From the longest to the shortest that may fit."""
    return [", ".join(names), ", ".join(name.rpartition("-")[2] for name in names), f"{len(names)}"]
