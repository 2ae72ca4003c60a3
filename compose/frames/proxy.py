"""The frame proxy itself: an event loop in a thread of its own, one listener for each broker, and rules to arm.

with FrameProxy({1: ("127.0.0.1", 9092)}) as frames:
    late = frames.arm(Rule("hold", "EndTxn", client="producer-1"))
    late.wait_caught(); frames.cut(late); ...; frames.release(late)
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TypeVar

from compose.frames.apis import api_key
from compose.frames.book import Book
from compose.frames.lane import Held
from compose.frames.line import End, Line
from compose.frames.rules import Armed, Direction, Rule, Sighting
from kernel.errors import SuiteError

T = TypeVar("T")
Address = tuple[str, int]
PATIENCE = 30.0  # seconds for the loop to do something small


class FrameProxy:
    def __init__(self, brokers: Mapping[int, Address]) -> None:
        self._brokers = dict(brokers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="kafka-frames", daemon=True)
        self._book = Book(self._connect)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.listening: dict[int, Address] = {}

    # ---- life --------------------------------------------------------------------------------------------------

    def __enter__(self) -> "FrameProxy":
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(PATIENCE)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Every connection and listener. May be called more than once."""
        if self._thread.is_alive():
            self._do(self._end)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)

    # ---- rules -------------------------------------------------------------------------------------------------

    def arm(self, rule: Rule) -> Armed:
        armed = Armed(rule)
        self._do(lambda: self._book.armed.append(armed))
        return armed

    def disarm(self, armed: Armed) -> None:
        """It chooses no more, and what it holds goes on its way."""
        self._do(lambda: self._book.armed.remove(armed) if armed in self._book.armed else None)
        self.release(armed)

    @contextmanager
    def armed(self, rule: Rule) -> Iterator[Armed]:
        armed = self.arm(rule)
        try:
            yield armed
        finally:
            self.disarm(armed)

    def release(self, armed: Armed) -> None:
        """Send what a rule holds on its way, even if its sender is gone."""
        self._do(lambda: _each(armed.holding, _release))

    def cut(self, armed: Armed) -> None:
        """Close the client's end of every connection on which this rule holds a request; the broker's end stays open."""
        self._do(lambda: _each(armed.holding, lambda held: held.lane.line.client.abort()))

    # ---- what was seen -----------------------------------------------------------------------------------------

    def seen(
        self, api: str | int | None = None, client: str | None = None, direction: Direction | None = None
    ) -> list[Sighting]:
        """The newest frames, oldest first."""
        key = None if api is None else api_key(api)
        return [
            each
            for each in self._do(lambda: list(self._book.sightings))
            if key in (None, each.api) and client in (None, each.client) and direction in (None, each.direction)
        ]

    def versions(self, api: str | int, client: str | None = None) -> set[int]:
        """The versions of a request that were seen on the wire since the proxy began."""
        key = api_key(api)
        return {
            version
            for name, seen, version in self._do(lambda: list(self._book.versions))
            if seen == key and client in (None, name)
        }

    def lines(self) -> set[int]:
        """The connections that are open now, by the number under which they are on record."""
        return self._do(lambda: {line.number for line in self._book.lines})

    # ---- inside ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _listen(self) -> None:
        for broker in self._brokers:
            server = await self._loop.create_server(partial(self._accept, broker), "127.0.0.1", 0)
            self._servers.append(server)
            self.listening[broker] = server.sockets[0].getsockname()[:2]

    def _accept(self, broker: int) -> End:
        return self._book.opened(broker).client

    def _connect(self, line: Line) -> None:
        task = self._loop.create_task(self._reach(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reach(self, line: Line) -> None:
        try:
            await self._loop.create_connection(lambda: line.broker, *self._brokers[line.broker_id])
        except OSError:
            line.broker.gone = True  # there never was one
            line.client.abort()

    def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        for line in list(self._book.lines):
            line.client.abort()
            line.broker.abort()

    def _do(self, act: Callable[[], T]) -> T:
        """In the loop's thread, which alone touches connections and rules."""
        if not self._thread.is_alive():
            raise SuiteError("the frame proxy is not running: use it inside its `with` block.")
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(act())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(PATIENCE)


def _release(held: Held) -> None:
    if not held.released:
        held.lane.line.awaits(held)
        held.lane.release(held)


def _each(held: list[Held], act: Callable[[Held], None]) -> None:
    for one in held:
        act(one)
