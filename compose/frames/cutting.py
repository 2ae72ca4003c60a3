"""Where frames begin in a stream of bytes, however the stream was split, and what their headers say. Pure.

Every frame begins with its length. Of a request the api key, api version, correlation id and client id are read, of a
response the correlation id, and nothing else. What is no frame of Kafka's (TLS, a port scan, a broken client) makes a
stream blind: from there on its bytes are passed on as they are.
"""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

LARGEST = 100 * 1024 * 1024  # of a frame: Kafka's own socket.request.max.bytes
LENGTH = Struct(">i")
REQUEST = Struct(">ihhih")  # length, api key, api version, correlation id, length of the client id
RESPONSE = Struct(">ii")  # length, correlation id
SHORTEST_REQUEST, SHORTEST_RESPONSE = REQUEST.size - LENGTH.size, RESPONSE.size - LENGTH.size

Bytes = bytes | memoryview


class Frame(NamedTuple):
    at: int  # where it begins in the bytes that were handed out with it
    size: int  # its length field included
    correlation: int
    api: int = -1
    version: int = -1
    client: str | None = None


class Garbage(Exception):
    """No frame begins here."""


def request(data: bytes, at: int) -> Frame | None:
    """The request that begins here; None as long as its header is not complete."""
    here = len(data) - at
    if here < REQUEST.size:
        _length(data, at, SHORTEST_REQUEST)
        return None
    length, api, version, correlation, name = REQUEST.unpack_from(data, at)
    _checked(length, SHORTEST_REQUEST)
    if name < -1 or name > length - SHORTEST_REQUEST:
        raise Garbage
    begin = at + REQUEST.size
    if here < REQUEST.size + name:
        return None
    client = None if name < 0 else data[begin : begin + name].decode(errors="replace")
    return Frame(at, LENGTH.size + length, correlation, api, version, client)


def response(data: bytes, at: int) -> Frame | None:
    if len(data) - at < RESPONSE.size:
        _length(data, at, SHORTEST_RESPONSE)
        return None
    length, correlation = RESPONSE.unpack_from(data, at)
    _checked(length, SHORTEST_RESPONSE)
    return Frame(at, LENGTH.size + length, correlation)


class Cutter:
    """One direction of one connection. Bytes come in as the network hands them over and go out unchanged and in order;
    only the beginning of a header is kept until the rest of it is there."""

    def __init__(self, read: Callable[[bytes, int], Frame | None]) -> None:
        self._read, self._tail = read, b""
        self.left = 0  # bytes of the current frame that are still to come
        self.blind = False

    def feed(self, data: bytes) -> tuple[Bytes, list[Frame]]:
        """The bytes to pass on, and the frames that begin in them."""
        if self.blind:
            return data, []
        if self._tail:
            data, self._tail = self._tail + data, b""
        frames: list[Frame] = []
        at, end = self.left, len(data)
        try:
            while at < end:
                frame = self._read(data, at)
                if frame is None:
                    return self._kept(data, at), frames
                frames.append(frame)
                at += frame.size
        except Garbage:
            self.blind, at = True, end
        self.left = at - end
        return data, frames

    def finish(self) -> bytes:
        """What was kept, when no more will come."""
        tail, self._tail = self._tail, b""
        return tail

    def _kept(self, data: bytes, at: int) -> memoryview:
        self._tail, self.left = data[at:], 0
        return memoryview(data)[:at]


def _length(data: bytes, at: int, shortest: int) -> None:
    if len(data) - at >= LENGTH.size:
        _checked(LENGTH.unpack_from(data, at)[0], shortest)


def _checked(length: int, shortest: int) -> None:
    if not shortest <= length <= LARGEST:
        raise Garbage
