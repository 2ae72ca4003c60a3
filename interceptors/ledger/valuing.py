"""How a record gets a value that no other record of the run has, and how whoever reads it finds it again.

In a header of its own, so that any application's records can be judged as they are; or in the payload, for records that
carry something unique anyway. A record without one is somebody else's, and is left alone.
"""

import logging
import zlib
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any, Protocol

from interceptors.loading import BadInterceptor
from interceptors.record import ProducerRecord

LOG = logging.getLogger("interceptors.ledger")
HEADER = "kafka-trial-value"
BY_HEADER = "header"
LENGTH = 12  # bytes: of which run it is (4), and its value in this run (8)
LIFE_BITS, COUNT_BITS = 31, 32  # of a value: which life of which producer, and its how manieth record; positive in 64 bits
SMALLEST = 16  # bytes of a trial's record: its value as text

ValueOf = Callable[[Any], int | None]


def digits(payload: bytes) -> int:
    """A trial's records begin with their value, in 16 digits."""
    return int(payload[:SMALLEST])


class Values(Protocol):
    def give(self, record: ProducerRecord) -> tuple[int | None, ProducerRecord]:
        """The value of a record that is about to be sent, and the record that carries it."""

    def find(self, message: Any) -> int | None:
        """That of one that was read; None if it is not one of ours."""


class HeaderValues:
    """`run_id` goes into the header as a checksum: what an earlier run left in the same topic is not ours."""

    def __init__(self, run_id: str, first: int = 0) -> None:
        self._run = zlib.crc32(run_id.encode()).to_bytes(4, "big")
        self._numbers = count(first)

    def give(self, record: ProducerRecord) -> tuple[int, ProducerRecord]:
        value = next(self._numbers)
        return value, record.with_headers((HEADER, self._run + value.to_bytes(8, "big")))

    def find(self, message: Any) -> int | None:
        headers = message.headers()
        if not headers:
            return None
        for name, content in reversed(headers):
            if name == HEADER:
                return self._read(content)
        return None

    def _read(self, content: Any) -> int | None:
        if not isinstance(content, bytes) or len(content) != LENGTH or content[:4] != self._run or content[4] > 127:
            return None
        return int.from_bytes(content[4:], "big")


class PayloadValues:
    """`value_of` is asked with what the application gave to produce(), text as the bytes that go out, and with what comes
    out of poll()."""

    def __init__(self, value_of: ValueOf) -> None:
        self._value_of, self._told = value_of, False

    def give(self, record: ProducerRecord) -> tuple[int | None, ProducerRecord]:
        payload = record.value
        return self._checked(payload.encode() if isinstance(payload, str) else payload), record

    def find(self, message: Any) -> int | None:
        try:
            return self._checked(message.value())
        except Exception as error:  # somebody else's record need not be what the function takes
            if not self._told:
                LOG.info("a record of %s has no value that could be read: %r", message.topic(), error)
            self._told = True
            return None

    def _checked(self, payload: Any) -> int | None:
        value = self._value_of(payload)
        if value is None or (value.__class__ is int and -(1 << 63) <= value < 1 << 63):
            return value
        raise TypeError(f"interceptor.ledger.value answered {value!r:.100}: an int of 64 bits, or None if it has no value")


def value_function(told: Any) -> ValueOf:
    """From a callable or its dotted name."""
    if callable(told):
        return told  # type: ignore[no-any-return]
    module, _, name = told.rpartition(".") if isinstance(told, str) else ("", "", "")
    if not module:
        raise BadInterceptor(
            f"interceptor.ledger.value is {told!r}: give {BY_HEADER!r}, a function from a payload to its value, or the "
            "dotted name of one."
        )
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadInterceptor(f"interceptor.ledger.value {told!r} cannot be imported: {error}.") from error
    if not callable(found):
        raise BadInterceptor(f"interceptor.ledger.value {told!r} is a {type(found).__name__}, not a function.")
    return found  # type: ignore[no-any-return]


def dotted(value_of: ValueOf) -> str | None:
    """The name it can be imported by elsewhere, if it has one."""
    name = f"{value_of.__module__}.{getattr(value_of, '__qualname__', '<')}"
    return None if "<" in name or name.startswith("__main__.") else name
