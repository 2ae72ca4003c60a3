"""The rows of one client in the order of its operations, gathered where they happen and written down by a thread.

An application must not wait for a disk, and a kill should cost no more than about a second of what was known.
"""

import threading
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from interceptors.ledger.deliveries import Deliveries

if TYPE_CHECKING:
    from interceptors.ledger.ledger_writer import LedgerWriter

WRITE_EVERY = 0.2  # seconds; files are made of it once a second

Row = dict[str, Any]


class Book:
    """With `troubled` it writes by itself, and says there if it cannot; without, whoever owns it says when."""

    def __init__(
        self, writer: "LedgerWriter", deliveries: Deliveries, *, troubled: Callable[[Exception], None] | None = None
    ) -> None:
        self.client = writer.client
        self.ops = count(1)
        self._writer, self._deliveries, self._troubled = writer, deliveries, troubled
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="ledger-clock", daemon=True)
        if troubled is not None:
            self._thread.start()

    def operation(self, rows: list[Row]) -> None:
        op = next(self.ops)
        with self._lock:
            for ix, row in enumerate(rows):
                self._writer.row(op=op, ix=ix, **row)

    def columns(self, count: int, columns: Mapping[str, Any]) -> None:
        """One operation of many rows."""
        with self._lock:
            self._writer.rows(count, {**columns, "op": next(self.ops)})

    def write_down(self) -> None:
        """Everything whose outcome became known since the last time."""
        with self._lock:
            self._writer.rows(*self._deliveries.columns())
            if self._writer.due:
                self._writer.flush()

    def sync(self) -> None:
        """The same, and on disk when this returns."""
        with self._lock:
            self._writer.rows(*self._deliveries.columns())
            self._writer.sync()

    def close(self, left: Callable[[], list[Row]]) -> None:
        """`left` is what is still to be said when all else is. Closing again says what went wrong, if something did."""
        again = self._over.is_set()
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            if not again:
                self._writer.rows(*self._deliveries.columns())
                for row in left():
                    self._writer.row(**row)
            self._writer.close()

    def _keep(self) -> None:
        while not self._over.wait(WRITE_EVERY):
            try:
                self.write_down()
            except Exception as error:
                if self._troubled is not None:
                    self._troubled(error)
                return
