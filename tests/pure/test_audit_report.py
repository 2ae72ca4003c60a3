"""Reports: there and back again, in parts that a broker takes, and nothing else is taken for one."""

import json
from dataclasses import replace

import pytest

from interceptors.audit.report import NoReport, Report, Stretch, Unsure, decode, encode, parts
from tests.pure.audit_books import sketch


def report(rows: int = 2, **more: object) -> Report:
    told = Report(
        tier="shop", role="producer", life="00ff00ff00ff00ff", seq=7, begins=7, at_ms=5, every_ms=10_000, bucket_ms=10_000,
        client="c1", host="h", closed=True, unaudited=3,
        rows={("orders", n, 1_700_000_000_000): sketch(range(n, n + 20)) for n in range(rows)},
        stretches=(Stretch("orders", 0, 3, 9),), unsure=(Unsure("orders", 1, 0, 10_000, 2),),
    )  # fmt: skip
    return replace(told, **more)  # type: ignore[arg-type]


def test_a_report_survives_the_journey():
    assert decode(encode(report())) == report()


def test_spark_finds_plain_columns():
    told = json.loads(encode(report()))
    row = told["rows"][0]

    assert (told["version"], told["tier"], told["role"], told["seq"], told["closed"]) == (1, "shop", "producer", 7, True)
    assert (row["topic"], row["partition"], row["start_ms"], row["count"]) == ("orders", 0, 1_700_000_000_000, 20)
    assert told["positions"] == [{"topic": "orders", "partition": 0, "begin": 3, "end": 9}]
    assert len(row["sum"]) == len(row["xor"]) == 16


@pytest.mark.slow
def test_a_small_report_is_one_message_and_a_large_one_several_that_say_the_same():
    assert [part for part, _ in parts(report())] == [report()]
    large = report(rows=3000)

    split = parts(large)

    assert len(split) > 2
    assert max(len(message) for _, message in split) <= 900_000
    assert [part.seq for part, _ in split] == list(range(7, 7 + len(split)))
    assert {part.begins for part, _ in split} == {7}
    assert {key: one for part, _ in split for key, one in part.rows.items()} == large.rows
    assert [(part.closed, part.stretches, part.unsure, part.unaudited) for part, _ in split[:-1]] == [
        (False, (), (), 0) for _ in split[1:]
    ]
    last = split[-1][0]
    assert (last.closed, last.stretches, last.unsure, last.unaudited) == (True, large.stretches, large.unsure, 3)


@pytest.mark.parametrize(
    "message",
    [
        None, b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b'"text"', b'{"version": 2}',
        *(encode(report()).replace(old, new) for old, new in [
            (b'"seq":7', b'"seq":"7"'), (b'"closed":true', b'"closed":1'), (b'"rows":[', b'"rows":[7,'),
            (b'"cells":"', b'"cells":"0 '), (b'"tier":"shop"', b'"tier":null'), (b'"begin":3', b'"begin":"x"'),
            (b'"life"', b'"lives"'), (b'"sum":"', b'"sum":"q'),
        ]),
    ],
)  # fmt: skip
def test_whatever_is_no_report_is_refused(message: bytes | None):
    with pytest.raises(NoReport):
        decode(message)
