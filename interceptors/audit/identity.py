"""Which record is this? 64 bits that any tier can work out by itself, without a header.

So tiers that are not ours can be audited too. Key and value are hashed each for itself, so that ("a", "b") is not ("", "ab")
and nothing is not the empty text; the log's timestamp and the offset are mixed in. The offset alone would not do: after an
unclean election another record stands at the offset of a lost one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

NOTHING = b"\x9e\x37\x79\xb9\x7f\x4a\x7c\x15"  # stands for the hash of None
HASHABLE = frozenset({bytes, type(None)})
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_KEY, _TIME, _OFFSET = (np.uint64(c) for c in (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


class NotBytes(TypeError):
    """A key or value that is an object: somebody deserialised it, and what it was on the wire is gone."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


def mixed(x: U64) -> U64:
    """splitmix64, of every element. Needs an array, whose arithmetic wraps in silence."""
    x = x + _GOLDEN
    x ^= x >> _30
    x *= _A
    x ^= x >> _27
    x *= _B
    x ^= x >> _31
    return x


def hashes(them: Sequence[Any]) -> U64:
    kinds = set(map(type, them))
    if not kinds <= HASHABLE:
        raise NotBytes(next(iter(kinds - HASHABLE)))
    if kinds == {bytes}:
        joined = b"".join(map(xxhash.xxh3_64_digest, them))
    elif bytes not in kinds:
        joined = NOTHING * len(them)
    else:
        joined = b"".join([NOTHING if one is None else xxhash.xxh3_64_digest(one) for one in them])
    return np.frombuffer(joined, dtype=">u8").astype(np.uint64)


def identities(keys: Sequence[Any], values: Sequence[Any], timestamps: I64, offsets: I64 | None) -> U64:
    return of_content(content(keys, values), timestamps, offsets)


def content(keys: Sequence[Any], values: Sequence[Any]) -> U64:
    """As much of an identity as is known before a record has its place in the log."""
    return mixed(hashes(values) ^ mixed(hashes(keys) ^ _KEY))


def of_content(content: U64, timestamps: I64, offsets: I64 | None) -> U64:
    """Without offsets, of the content and its timestamp alone: what a mirror keeps."""
    found = mixed(content ^ (timestamps.view(np.uint64) * _TIME))
    return found if offsets is None else mixed(found ^ (offsets.view(np.uint64) * _OFFSET))
