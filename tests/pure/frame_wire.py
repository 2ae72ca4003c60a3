"""Both ends of a wire for the frame proxy: requests and answers as bytes, and a broker that answers everything it gets."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import pack, unpack

END_TXN, PRODUCE = 26, 0


def request(
    correlation: int, *, api: int = PRODUCE, version: int = 9, client: str | None = "app", body: bytes = b""
) -> bytes:
    name = b"" if client is None else client.encode()
    told = pack(">hhih", api, version, correlation, -1 if client is None else len(name)) + name + body
    return pack(">i", len(told)) + told


def response(correlation: int, body: bytes = b"") -> bytes:
    return pack(">ii", 4 + len(body), correlation) + body


def received(line: socket.socket, size: int) -> bytes:
    """So many bytes, or what there was until the end."""
    parts = bytearray()
    while len(parts) < size and (part := line.recv(size - len(parts))):
        parts += part
    return bytes(parts)


def answered(line: socket.socket) -> int:
    """The correlation id of the next answer."""
    size, correlation = unpack(">ii", received(line, 8))
    received(line, size - 4)
    return int(correlation)


class Broker:
    """Answers every request in order, and remembers them."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.ended = threading.Event()
        self._news = threading.Condition()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._server.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def correlations(self) -> list[int]:
        return [int.from_bytes(each[4:8], "big") for each in self.got]

    def wait_for(self, count: int, timeout: float = 10) -> list[int]:
        with self._news:
            assert self._news.wait_for(lambda: len(self.got) >= count, timeout), f"{len(self.got)} of {count} came"
        return self.correlations()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError):  # the other end may go as it likes
            while len(head := received(line, 4)) == 4:
                told = received(line, int.from_bytes(head, "big", signed=True))
                with self._news:
                    self.got.append(told)
                    self._news.notify_all()
                line.sendall(response(int.from_bytes(told[4:8], "big"), b"\0\0\0\0\0\7"))
        self.ended.set()


@contextmanager
def broker() -> Iterator[Broker]:
    one = Broker()
    try:
        yield one
    finally:
        one.close()
