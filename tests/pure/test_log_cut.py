"""Where a log ends, and where it has to be cut so that no record from an offset on is left."""

import struct

import pytest

from chaos.segments import HEADER, Batch, batches, cut_before, end_offset
from kernel.errors import UsageError


def batch(first: int, records: int, size: int = 100, magic: int = 2) -> bytes:
    header = HEADER.pack(first, size - 12, 0, magic, 0, 0, records - 1, 0, 0, 0, 0, 0, records)
    return header.ljust(size, b"\0")


SEGMENT = batch(40, 10) + batch(50, 1, size=61) + batch(51, 9, size=200)


def test_the_header_has_its_last_offset_where_kafka_puts_it():
    assert HEADER.size == 61
    assert struct.unpack_from(">i", SEGMENT, 23) == (9,)


def test_every_batch_is_told_with_its_place_and_its_offsets():
    assert list(batches(SEGMENT)) == [Batch(0, 100, 40, 49), Batch(100, 61, 50, 50), Batch(161, 200, 51, 59)]
    assert end_offset(SEGMENT) == 60


@pytest.mark.parametrize("torn", [SEGMENT[:-1], SEGMENT[: 161 + HEADER.size], SEGMENT[:165]])
def test_a_batch_that_is_torn_does_not_count(torn: bytes):
    assert end_offset(torn) == 51


def test_nothing_has_no_end():
    assert end_offset(b"") is None
    assert end_offset(bytes(4096)) is None, "preallocated, not written"


@pytest.mark.parametrize(("offset", "place"), [(50, 100), (51, 161), (60, 361), (0, 0), (45, 0), (59, 161)])
def test_it_is_cut_so_that_no_record_from_the_offset_on_is_left(offset: int, place: int):
    assert cut_before(SEGMENT, offset) == place
    assert (end_offset(SEGMENT[:place]) or 0) <= offset


def test_what_is_no_segment_is_refused():
    with pytest.raises(UsageError, match=r"^the batch at byte 100 has magic 1, not 2"):
        list(batches(batch(0, 1) + batch(1, 1, magic=1)))
