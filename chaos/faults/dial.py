"""Call a listener and see how it takes it: the eyes of every probe.

The greeting is the shortest thing that is always answered: an ApiVersions request, or on a TLS listener the ClientHello
that begins every handshake. It needs no name and no password, and asks nothing of the broker that could fail.
"""

import socket
import ssl
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

Address = tuple[str, int]
How = Literal["answered", "silent", "refused", "hung up", "reset"]
API_VERSIONS = 18
PATIENCE_S = 10.0  # for a fault to show itself
SILENCE_S = 2.0  # without an answer that otherwise takes milliseconds
LONGEST_NAME = 30_000  # a client id's length is a 16-bit number


@dataclass(frozen=True, slots=True)
class Reply:
    """How a call ended, after how long, and in which pieces the answer came."""

    how: How
    seconds: float = 0.0
    pieces: tuple[int, ...] = ()

    @property
    def received(self) -> int:
        return sum(self.pieces)

    @property
    def ended(self) -> bool:
        return self.how in ("hung up", "reset")


def call(where: Address, *, secure: bool, patience: float, times: int = 1, padding: int = 0) -> Reply:
    """Greet `times` at once on one new connection and wait for all answers. A TLS listener can be greeted only once."""
    pieces: list[int] = []
    began = time.monotonic()
    how: How
    try:
        with socket.create_connection(where, timeout=patience) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            began = time.monotonic()  # connecting is the kernel's work, whoever listens
            line.sendall(client_hello() if secure else api_versions(padding) * times)
            how = _hear(line, 1 if secure else times, pieces, framed=not secure)
    except ConnectionRefusedError:
        how = "refused"
    except (ConnectionResetError, BrokenPipeError):
        how = "reset"
    except TimeoutError:
        how = "silent"
    return Reply(how, time.monotonic() - began, tuple(pieces))


def line(where: Address) -> socket.socket:
    """A connection that says nothing."""
    return socket.create_connection(where, timeout=SILENCE_S)


def hung_up(line: socket.socket) -> bool:
    """Whether the other side ends a silent line, within our patience."""
    line.settimeout(PATIENCE_S)
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def _hear(line: socket.socket, answers: int, pieces: list[int], *, framed: bool) -> How:
    """Read until that many answers are complete. Those of a TLS listener are not taken apart: the first bytes will do."""
    heard, ends = bytearray(), 0
    while answers:
        piece = line.recv(65536)
        if not piece:
            return "hung up"
        pieces.append(len(piece))
        if not framed:
            return "answered"
        heard += piece
        while answers and len(heard) >= ends + 4 and len(heard) >= (end := ends + 4 + _length(heard, ends)):
            ends, answers = end, answers - 1
    return "answered"


def _length(heard: bytearray, at: int) -> int:
    length: int = struct.unpack_from(">i", heard, at)[0]
    return length


def api_versions(padding: int = 0) -> bytes:
    """Version 0, which every broker answers; the client's name takes the padding."""
    name = b"kafka-trial-probe".ljust(min(padding, LONGEST_NAME), b".")
    body = struct.pack(">hhih", API_VERSIONS, 0, 1, len(name)) + name
    return struct.pack(">i", len(body)) + body


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is said to whoever answers
    outgoing = ssl.MemoryBIO()
    handshake = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    with suppress(ssl.SSLWantReadError):  # the hello is written, the answer will never be read
        handshake.do_handshake()
    return outgoing.read()
