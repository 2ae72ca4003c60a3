"""What every chart shows behind its figures: when the cluster was broken, and what it did about it."""

from dataclasses import dataclass, field

from markupsafe import Markup

from chaos.report.svg import Frame, el, joined, title
from chaos.report.timeline import Fault, Stretch
from chaos.report.words import seconds

STRIP = 16  # height of the strip of phases
LETTER = 6.2  # width of one in the strip's size


@dataclass(frozen=True, slots=True)
class Backdrop:
    phases: list[Stretch] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    elections: list[tuple[float, str]] = field(default_factory=list)
    controllers: list[tuple[float, str]] = field(default_factory=list)

    def drawn(self, frame: Frame) -> Markup:
        edges = [_line(frame, fault.begin, "fault-edge", _said(fault)) for fault in self.faults if fault.begin >= 0]
        bites = [_line(frame, fault.bite, "bite", f"{fault.kind} bites") for fault in self.faults if fault.bite is not None]
        moved = [_line(frame, when, "election", words) for when, words in _together(self.elections)]
        moved += [_line(frame, when, "controller", words) for when, words in _together(self.controllers)]
        return joined([*_shades(frame, self.faults), *edges, *bites, *moved])

    def strip(self, frame: Frame) -> Markup:
        """The phases, above the chart; a name is written where there is room for it."""
        parts = []
        for number, phase in enumerate(self.phases):
            x, wide = frame.x(phase.begin), frame.x(phase.end) - frame.x(phase.begin)
            tip = title(f"{phase.what}: {seconds(phase.begin)} to {seconds(phase.end)}")
            parts.append(el("rect", tip, class_=f"phase odd{number % 2}", x=x, y=0, width=wide, height=STRIP))
            if wide > len(str(phase.what)) * LETTER + 6:
                parts.append(el("text", phase.what, class_="phase-name", x=x + 4, y=STRIP - 4))
        return joined(parts)


def _shades(frame: Frame, faults: list[Fault]) -> list[Markup]:
    """Faults at the same time are one shade: three of them would otherwise hide what is drawn over them."""
    whole: list[tuple[float, float, list[Fault]]] = []
    for fault in sorted(faults, key=lambda fault: fault.begin):
        begin, end = max(fault.begin, 0.0), min(fault.end, frame.seconds)
        if whole and begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end), [*whole[-1][2], fault])
        else:
            whole.append((begin, end, [fault]))
    return [_shade(frame, *one) for one in whole]


def _shade(frame: Frame, begin: float, end: float, faults: list[Fault]) -> Markup:
    x, wide = frame.x(begin), max(frame.x(end) - frame.x(begin), 1.5)
    words = "\n".join(_said(fault) for fault in faults)
    return el("rect", title(words), class_="fault", x=x, y=frame.top, width=wide, height=frame.floor - frame.top)


def _said(fault: Fault) -> str:
    until = seconds(fault.end) if fault.healed else "the end"
    return f"{fault.kind}: {fault.sentence} ({seconds(fault.begin)} to {until})"


def _line(frame: Frame, when: float, name: str, words: str) -> Markup:
    x = frame.x(when)
    return el("line", title(f"{seconds(when)}: {words}"), class_=name, x1=x, x2=x, y1=frame.top, y2=frame.floor)


def _together(changes: list[tuple[float, str]], *, most: int = 60) -> list[tuple[float, str]]:
    """A thousand partitions that move at once are one line, and a stormy run still shows its chart."""
    lines: dict[float, list[str]] = {}
    for when, words in changes:
        lines.setdefault(round(when, 1), []).append(words)
    shown = [(when, said[0] if len(said) == 1 else f"{len(said)} leaders change") for when, said in sorted(lines.items())]
    return shown[:: max(1, -(-len(shown) // most))]
