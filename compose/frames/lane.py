"""One direction of one connection: passed on as it comes, unless a rule has chosen one of its frames.

A frame that is held keeps everything behind it waiting, as a slow network would: Kafka answers in order. What was read
while it waits is at most what one read of the socket brought; then reading stops, and the sender notices.
"""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from compose.frames.cutting import Bytes, Cutter, Frame
from compose.frames.rules import Armed, Sighting

if TYPE_CHECKING:
    from compose.frames.line import End, Line

KEPT = 64  # bytes of an answer to a frame that was held


class Held:
    """A frame that is kept back, and the answer that it gets in the end."""

    def __init__(self, lane: "Lane", armed: Armed, sighting: Sighting) -> None:
        self.lane, self.armed, self.sighting = lane, armed, sighting
        self.data, self.answer = bytearray(), bytearray()
        self.released = self.answered = False


class Piece(NamedTuple):
    """Consecutive bytes of one frame."""

    begins: bool
    armed: Armed | None
    sighting: Sighting | None
    data: Bytes
    missing: int  # bytes of the frame that are still to come


class Lane:
    def __init__(self, line: "Line", source: "End", sink: "End", cutter: Cutter) -> None:
        self.line, self.source, self.sink, self.cutter = line, source, sink, cutter
        self.blocked = False  # behind a frame that is held
        self._waiting: deque[Piece] = deque()
        self._dropping = False
        self._held: Held | None = None  # being held and not complete yet, or held
        self._answering: Held | None = None  # whose answer is under way
        self._answer_size = 0

    @property
    def busy(self) -> bool:
        return self.blocked or self._dropping or self._held is not None or bool(self._waiting)

    def received(self, data: bytes) -> None:
        out, frames = self.cutter.feed(data)
        if self._answering is not None:
            self._take_answer(out)
        chosen = [self.line.saw(self, frame, out) for frame in frames]
        if self.busy or any(armed for armed, _ in chosen):
            self._waiting.extend(self._pieces(out, frames, chosen))
            self.pump()
        elif out:
            self.sink.write(out)

    def pump(self) -> None:
        while self._waiting and not self.blocked:
            piece = self._waiting.popleft()
            if piece.begins and piece.armed is not None and piece.armed.rule.deed == "cut":
                self._waiting.clear()
                self.line.cut()
                return
            if piece.begins:
                self._begin(piece)
            if self._held is not None:
                self._hold(piece)
            elif not self._dropping:
                self.sink.write(piece.data)
            elif piece.missing == 0:
                self._dropping = False

    def release(self, held: Held) -> None:
        """On its way at last, if there is still somebody at the other end."""
        if held.released:
            return
        held.released = True
        self.line.released(held)
        self.sink.write(bytes(held.data))
        held.data.clear()
        self.blocked, self._held = False, None
        self.pump()
        self.gate()
        self.line.settle()

    def gate(self) -> None:
        """Read on or not: not behind a held frame, nor faster than the other side takes it."""
        self.source.read(not self.blocked and not self.sink.full)

    def ended(self) -> None:
        """The source is gone. What it said to the end still goes to the other side."""
        if tail := self.cutter.finish():
            if self.busy:
                self._waiting.append(Piece(False, None, None, tail, 0))
            else:
                self.sink.write(tail)

    def awaits(self, held: Held, begin: Bytes, size: int) -> None:
        """An answer begins here."""
        self._answering, self._answer_size = held, min(size, KEPT)
        self._take_answer(begin)

    def _take_answer(self, data: Bytes) -> None:
        held = self._answering
        if held is None:
            return
        held.answer += data[: self._answer_size - len(held.answer)]
        if len(held.answer) >= self._answer_size:
            self._answering, held.answered = None, True
            held.armed.told()
            self.line.settle_soon()

    def _begin(self, piece: Piece) -> None:
        self._dropping, self._held = False, None
        if piece.armed is None or piece.sighting is None:
            return
        if piece.armed.rule.deed == "drop":
            self._dropping = True
        else:
            self._held = Held(self, piece.armed, piece.sighting)

    def _hold(self, piece: Piece) -> None:
        held = self._held
        assert held is not None  # noqa: S101
        held.data += piece.data
        if piece.missing == 0:
            self.blocked = True
            self.gate()
            if held.armed.rule.deed == "delay":
                self.line.later(held.armed.rule.ms / 1000, lambda: self.release(held))
            else:
                held.armed.told(held=held)

    def _pieces(self, out: Bytes, frames: list[Frame], chosen: list[tuple[Armed | None, Sighting]]) -> list[Piece]:
        view, end = memoryview(out), len(out)
        first = frames[0].at if frames else end
        pieces = [Piece(False, None, None, view[:first], 0 if frames else self.cutter.left)] if first else []
        for frame, (armed, sighting) in zip(frames, chosen, strict=True):
            behind = frame.at + frame.size
            pieces.append(Piece(True, armed, sighting, view[frame.at : min(behind, end)], max(0, behind - end)))
        if frames and behind < end:  # no frame any more: the stream went blind
            pieces.append(Piece(True, None, None, view[behind:], 0))
        return pieces
