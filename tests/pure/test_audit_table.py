"""What numpy adds up by the thousand is what whole numbers add up one by one."""

from collections import defaultdict

import pytest
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from interceptors.audit import cells
from interceptors.audit.latency import upper_seconds
from interceptors.audit.sketch import Sketch
from interceptors.audit.table import Names, Table, columns

RECORD = st.tuples(
    st.sampled_from(("orders", "books", "a")),
    st.integers(0, 5),
    st.integers(0, 2**40),
    st.one_of(st.integers(1_700_000_000_000, 1_700_000_060_000), st.sampled_from((-1, 0, 4 * 10**15))),
    st.one_of(st.none(), st.binary(max_size=5)),
    st.floats(0, 100),
)


def message(topic: str, partition: int, offset: int, stamp: int, value: bytes | None, latency: float = 0.0) -> Message:
    return Message(
        topic=topic, partition=partition, offset=offset, key=b"k", value=value, timestamp=(1, stamp), latency=latency
    )


def slowly(records: list[Message], size: int) -> dict[tuple[str, int, int], Sketch]:
    found: dict[tuple[str, int, int], Sketch] = defaultdict(Sketch)
    them = columns(records, Names(), content=False)
    for n, record in enumerate(records):
        one, offset = int(them.identities[n]), record.offset()
        table = cells.no_cells(size)
        cells.add(table, (offset, one), 1)
        key = (record.topic(), record.partition(), record.timestamp()[1] // 10_000 * 10_000)
        found[key] += Sketch(1, one, one, offset, offset, table)
    return found


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(RECORD, min_size=1, max_size=40), st.integers(1, 10))
def test_numpy_and_whole_numbers_agree(told: list[tuple], size: int):
    records = [message(*one) for one in told]
    table = Table(names := Names(), 10_000, 24, content=False)
    for begin in range(0, len(records), size):
        table.add(columns(records[begin : begin + size], names, content=False))

    found, wanted = table.taken(), slowly(records, 24)

    assert {key: (s.count, s.sum, s.xor, s.first, s.last, list(s.cells or ())) for key, s in found.items()} == {
        key: (s.count, s.sum, s.xor, s.first, s.last, list(s.cells or ())) for key, s in wanted.items()
    }
    assert len(table) == 0


def test_a_table_grows_and_begins_anew_when_taken():
    table = Table(names := Names(), 10_000, 6, content=False)
    many = [message("orders", partition, 1, 0, b"v") for partition in range(500)]
    table.add(columns(many, names, content=False))

    assert len(table.sketches()) == len(table.taken()) == 500
    table.add(columns(many[:1], names, content=False))
    assert [sketch.count for sketch in table.taken().values()] == [1]


@pytest.mark.parametrize("seconds", [0.0001, 0.005, 1.0, 60.0, 7200.0])
def test_a_latency_is_in_the_bin_that_ends_behind_it(seconds: float):
    table = Table(names := Names(), 10_000, 0, content=False)
    table.add(columns([message("orders", 0, 1, 0, b"v", seconds)], names, content=False))

    [sketch] = table.taken().values()
    [place] = sketch.latencies
    assert upper_seconds(place) / 2**0.5 <= seconds * 1.0001
    assert seconds <= upper_seconds(place) * 1.0001


def test_by_content_two_tiers_with_other_offsets_are_alike():
    names = Names()
    one, other = (Table(names, 10_000, 24, content=True) for _ in range(2))
    one.add(columns([message("orders", 0, 7, 0, b"v")], names, content=True))
    other.add(columns([message("orders", 0, 900, 0, b"v")], names, content=True))

    [a], [b] = one.taken().values(), other.taken().values()
    assert (a.sum, a.xor, list(a.cells or ())) == (b.sum, b.xor, list(b.cells or ()))
