"""One connection through the proxy: the client's end, the broker's end, and a lane each way.

When the client goes, the broker's end goes too, unless a request of that client is still held: then it stays open, and the
request can be released onto it long after its sender has given it up.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from compose.frames.cutting import Bytes, Cutter, Frame, request, response
from compose.frames.lane import Held, Lane
from compose.frames.rules import DONE, Armed, Direction, Sighting

if TYPE_CHECKING:
    from compose.frames.book import Book

FULL = 1 << 20  # bytes that wait to be written before reading stops at the other end
MOST_OPEN = 10_000  # requests without an answer that are remembered: at acks=0 none ever comes


class End(asyncio.Protocol):
    """One of the two sockets."""

    def __init__(self, line: "Line") -> None:
        self._line = line
        self._transport: asyncio.Transport | None = None
        self.lane: Lane  # for what is read here; set by the line
        self.full = self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        transport.set_write_buffer_limits(high=FULL)
        self._line.connected(self)

    def data_received(self, data: bytes) -> None:
        self.lane.received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.gone = True
        self.lane.ended()
        self._line.lost(self)

    def pause_writing(self) -> None:
        self.full = True
        self._line.other(self).lane.gate()

    def resume_writing(self) -> None:
        self.full = False
        self._line.other(self).lane.gate()

    def write(self, data: Bytes) -> None:
        if self._transport is not None and not self._transport.is_closing() and len(data):
            self._transport.write(data)

    def read(self, on: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if on else self._transport.pause_reading)()

    def close(self) -> None:
        """Once everything is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Line:
    def __init__(self, book: "Book", number: int, broker: int) -> None:
        self.book, self.number, self.broker_id = book, number, broker
        self.client, self.broker = End(self), End(self)
        self.client.lane = Lane(self, self.client, self.broker, Cutter(request))
        self.broker.lane = Lane(self, self.broker, self.client, Cutter(response))
        self._open: dict[int, Frame] = {}  # requests by correlation id
        self._awaited: dict[int, Held] = {}  # those that were held, and whose answer somebody may want

    def other(self, end: End) -> End:
        return self.broker if end is self.client else self.client

    def connected(self, end: End) -> None:
        if end is self.client:
            end.read(False)  # until there is somebody to pass it on to
            self.book.connect(self)
        else:
            self.client.lane.gate()
            self.settle()  # the client may be gone already

    def lost(self, end: End) -> None:
        if end is self.broker:
            self.client.close()
        self.settle()
        if self.client.gone and self.broker.gone:
            self.book.closed(self)

    def settle(self) -> None:
        """Close the broker's end behind a client that has gone, once nothing is held for it or waits for an answer."""
        if self.client.gone and not self.client.lane.busy and not self._awaited:
            self.broker.close()

    def settle_soon(self) -> None:
        self._awaited = {key: held for key, held in self._awaited.items() if not held.answered}
        asyncio.get_running_loop().call_soon(self.settle)

    def cut(self) -> None:
        """Both ends; what the broker was sent before still reaches it."""
        self.broker.close()
        self.client.abort()

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, act)

    # ---- what is seen ------------------------------------------------------------------------------------------

    def saw(self, lane: Lane, frame: Frame, out: Bytes) -> tuple[Armed | None, Sighting]:
        """Put a frame on record, and say which rule has chosen it."""
        if lane is self.client.lane:
            if len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[frame.correlation] = frame
            return self._record("request", frame, frame)
        asked = self._open.pop(frame.correlation, frame)
        if self._awaited and frame.correlation in self._awaited:
            held = self._awaited[frame.correlation]
            if held.released:
                lane.awaits(held, out[frame.at :], frame.size)
        return self._record("response", asked, frame)

    def released(self, held: Held) -> None:
        now = time.monotonic_ns()
        self.book.note(held.sighting._replace(t_ns=now, done="released"))

    def awaits(self, held: Held) -> None:
        if held.lane is self.client.lane:
            self._awaited[held.sighting.correlation] = held

    def _record(self, direction: Direction, asked: Frame, frame: Frame) -> tuple[Armed | None, Sighting]:
        armed = self.book.chosen(direction, asked.api, asked.client)
        done = "passed" if armed is None else DONE[armed.rule.deed]
        sighting = Sighting(
            time.monotonic_ns(), self.broker_id, self.number, direction, asked.api, asked.version, frame.correlation,
            asked.client, frame.size, done,
        )  # fmt: skip
        self.book.note(sighting)
        if armed is not None:
            armed.told(sighting)
        return armed, sighting
