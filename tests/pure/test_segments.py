"""A segment is read batch by batch, damage is done where it was meant, and a checksum notices."""

import struct

import pytest

from chaos.segments import Batch, batch_with, batches, broken, corrupted, crc32c, cut, records


def varint(number: int) -> bytes:
    zigzag, out = (number << 1) ^ (number >> 63), bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def record(delta: int, value: bytes, key: bytes | None = None) -> bytes:
    keyed = varint(-1) if key is None else varint(len(key)) + key
    body = b"\0" + varint(0) + varint(delta) + keyed + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def batch(base: int, *values: bytes, key: bytes | None = None) -> bytes:
    body = b"".join(record(delta, value, key) for delta, value in enumerate(values))
    checked = struct.pack(">hiqqqhii", 0, len(values) - 1, 0, 0, -1, -1, -1, len(values)) + body
    rest = struct.pack(">ibI", 0, 2, crc32c(checked)) + checked
    return struct.pack(">qi", base, len(rest)) + rest


SEGMENT = batch(5, b"0001", b"0002") + batch(7, b"0003" * 50, key=b"k") + batch(8, b"0004")


def test_the_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283


def test_batches_are_found_one_after_the_other():
    found = list(batches(SEGMENT))

    assert [(one.base_offset, one.last_offset) for one in found] == [(5, 6), (7, 7), (8, 8)]
    assert [one.position for one in found] == [0, found[0].length, found[0].length + found[1].length]
    assert sum(one.length for one in found) == len(SEGMENT)
    assert tuple(found[0]) == (0, found[0].length, 5, 6)


@pytest.mark.parametrize("end", [-1, -30, 20])
def test_what_is_cut_off_is_no_batch(end: int):
    whole = len(list(batches(SEGMENT)))

    assert len(list(batches(SEGMENT[:end]))) < whole


def test_an_empty_segment_and_zeros_at_its_end_have_no_batch():
    assert list(batches(b"")) == []
    assert [one.base_offset for one in batches(SEGMENT + b"\0" * 200)] == [5, 7, 8]


def test_values_are_found_inside_their_batch():
    first, second, _ = batches(SEGMENT)

    assert [SEGMENT[one.position : one.position + one.length] for one in records(SEGMENT, first)] == [b"0001", b"0002"]
    assert [one.offset for one in records(SEGMENT, first)] == [5, 6]
    assert [one.length for one in records(SEGMENT, second)] == [200]


def test_the_batch_of_an_offset_is_found_or_none_is():
    assert batch_with(SEGMENT, 6) == next(batches(SEGMENT))
    assert batch_with(SEGMENT, 9) is None


def test_one_bit_turns_a_digit_into_another_and_only_the_checksum_knows():
    harmed = corrupted(SEGMENT, 6)

    assert harmed == SEGMENT.replace(b"0002", b"8002")
    assert [(one.base_offset, one.last_offset) for one in broken(harmed)] == [(5, 6)]
    assert broken(SEGMENT) == []


def test_a_segment_is_cut_in_the_middle_of_a_batch():
    left = cut(SEGMENT, 7)

    assert [one.base_offset for one in batches(left)] == [5]
    assert SEGMENT.startswith(left) and len(left) > Batch(*next(batches(SEGMENT))).length


@pytest.mark.parametrize("harm", [corrupted, cut])
def test_an_offset_that_is_not_there_is_named(harm):
    with pytest.raises(ValueError, match="offset 99 is not in this segment"):
        harm(SEGMENT, 99)
