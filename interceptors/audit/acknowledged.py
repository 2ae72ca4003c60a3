"""What delivery reports tell of records, by columns, before it is known with which timestamps they stand in the log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from interceptors.audit.identity import I64, U64, content, of_content
from interceptors.audit.table import F64, MANY, Columns, Names, placed, taken

CREATE, APPEND = 1, 2  # librdkafka's TIMESTAMP_CREATE_TIME and TIMESTAMP_LOG_APPEND_TIME


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """About 56 bytes a record."""

    where: I64  # a place by `Names`
    offsets: I64
    kinds: npt.NDArray[np.int8]  # of timestamps
    timestamps: I64  # ms, as reported
    created: I64  # ms, as sent; 0 if nobody knows
    contents: U64  # of keys and values
    latencies: F64  # ms

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, part: Any) -> "Acknowledged":
        return Acknowledged(
            self.where[part], self.offsets[part], self.kinds[part], self.timestamps[part], self.created[part],
            self.contents[part], self.latencies[part],
        )  # fmt: skip

    @property
    def topics(self) -> I64:
        """By number."""
        found: I64 = self.where // MANY
        return found

    def as_created(self) -> "Acknowledged":
        return replace(self, timestamps=self.created)

    def columns(self, *, content: bool) -> Columns:
        """Of records whose timestamps are those in the log."""
        found = of_content(self.contents, self.timestamps, None if content else self.offsets)
        return Columns(self.where, self.offsets, self.timestamps, found, self.latencies)


def acknowledged(records: Sequence[Any], created: Sequence[int], names: Names) -> Acknowledged:
    count = len(records)
    where, offsets = placed(records, names)
    kinds, stamps = list[int](), list[int]()
    for record in records:  # in a loop: a list of all pairs would wake the garbage collector
        kind, stamp = record.timestamp()
        kinds.append(kind)
        stamps.append(stamp)
    contents = content([record.key() for record in records], [record.value() for record in records])
    return Acknowledged(
        where,
        offsets,
        np.fromiter(kinds, np.int8, count),
        np.fromiter(stamps, np.int64, count),
        np.fromiter(created, np.int64, count),
        contents,
        taken(records),
    )
