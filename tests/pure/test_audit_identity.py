"""The same record is the same for every tier; whatever differs makes another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interceptors.audit import cells
from interceptors.audit.identity import NotBytes, identities, mixed

ANY = st.one_of(st.none(), st.binary(max_size=40))
STAMPS, OFFSETS = st.integers(-1, 2**53), st.integers(0, 2**53)


def identity(key: object, value: object, stamp: int = 1, offset: int | None = 1) -> int:
    places = None if offset is None else np.array([offset], np.int64)
    return int(identities([key], [value], np.array([stamp], np.int64), places)[0])


def test_where_the_key_ends_and_the_value_begins_matters():
    assert identity(b"a", b"b") != identity(b"", b"ab")
    assert identity(b"a", b"b") != identity(b"ab", b"")
    assert identity(b"a", b"b") != identity(b"b", b"a")


def test_nothing_is_not_the_empty_text():
    assert len({identity(None, b""), identity(b"", b""), identity(b"", None), identity(None, None)}) == 4


@pytest.mark.slow
@given(st.lists(st.tuples(ANY, ANY, STAMPS, OFFSETS), min_size=2, max_size=20, unique=True))
def test_records_that_differ_in_anything_have_different_identities(records: list[tuple[object, object, int, int]]):
    assert len({identity(*record) for record in records}) == len(records)


@pytest.mark.slow
@given(st.lists(st.tuples(ANY, ANY, STAMPS, OFFSETS), min_size=1, max_size=20))
def test_a_record_has_the_same_identity_alone_and_among_others(records: list[tuple[object, object, int, int]]):
    keys, values, stamps, offsets = zip(*records, strict=True)

    together = identities(keys, values, np.array(stamps, np.int64), np.array(offsets, np.int64))

    assert together.tolist() == [identity(*record) for record in records]


def test_by_content_the_offset_does_not_matter_and_the_timestamp_does():
    assert identity(b"k", b"v", 5, None) != identity(b"k", b"v", 6, None)
    assert identity(b"k", b"v", 5, None) != identity(b"k", b"v", 5, 0)


@pytest.mark.parametrize("odd", ["text", 7, {"an": "object"}, bytearray(b"x")])
def test_an_object_is_refused_and_never_guessed_at(odd: object):
    with pytest.raises(NotBytes, match=type(odd).__name__):
        identity(b"k", odd)
    with pytest.raises(NotBytes):
        identity(odd, b"v")


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_mixing_is_the_same_in_numpy_and_in_whole_numbers(numbers: list[int]):
    assert mixed(np.array(numbers, np.uint64)).tolist() == [cells.mix(number) for number in numbers]
