"""Our own answers for programs: what the judge knows, with its reasons; never a NaN, and errors as one sentence."""

import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lag_monitor.verdict import Burrow, Status
from tests.pure.lag_views import NOW, Views, client, group, incident, mixed, partition


def names(answer) -> list[str]:
    return [one["group"] for one in answer.json()["groups"]]


def test_clusters_tell_how_they_are():
    prod, edge = client(mixed()).get("/api/clusters").json()["clusters"]

    assert prod == {
        "cluster": "prod",
        "bootstrap": "prod-1.example.test:9092, prod-2.example.test:9092",
        "ready": True,
        "up": True,
        "trouble": None,
        "judged_at": "2026-07-25T17:19:56.000Z",
        "groups": 6,
        "partitions": 22,
        "by_status": {"DATA_LOSS": 1, "STALLED": 1, "SLOW": 1, "EMPTY_GROUP": 1, "OK": 2},
        "sources": ["admin", "offsets topic"],
        "disagreements": 2,
    }
    assert (edge["up"], edge["trouble"]) == (False, "edge-1.example.test:9092 refused the connection")
    assert client(mixed()).get("/api/clusters/edge").json() == edge


def test_groups_come_gravest_first_with_how_many_there_are():
    told = client(mixed()).get("/api/clusters/prod/groups")

    assert told.headers["content-type"] == "application/json"
    assert names(told) == ["invoices-archive", "billing", "search-indexer", "old-report", "audit-eos", "checkout"]
    assert {name: told.json()[name] for name in ("cluster", "total", "offset", "limit")} == {
        "cluster": "prod", "total": 6, "offset": 0, "limit": 100,
    }  # fmt: skip
    assert told.json()["groups"][1] == {
        "cluster": "prod",
        "group": "billing",
        "status": "STALLED",
        "gravity": "ERROR",
        "reason": "orders-3: 10.0.0.7 has held it for 9 min and committed 88,120 each time, while 4,310 records came",
        "since": "2026-07-25T17:15:50.000Z",
        "judged_at": "2026-07-25T17:19:56.000Z",
        "lag": 11510,
        "seconds": 545,
        "slo_seconds": 300,
        "state": "Stable",
        "kind": "consumer",
        "members": 3,
        "burrow": "ERR",
        "partition_count": 6,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=stalled", ["billing"]),
        ("status=STALLED,data-loss", ["invoices-archive", "billing"]),
        ("status=stalled&status=empty%20group", ["billing", "old-report"]),
        ("gravity=error", ["invoices-archive", "billing"]),
        ("gravity=Warning", ["invoices-archive", "billing", "search-indexer"]),
        ("q=IN", ["invoices-archive", "billing", "search-indexer"]),
        ("q=in&gravity=error&limit=1", ["invoices-archive"]),
        ("limit=2&offset=1", ["billing", "search-indexer"]),
        ("offset=99", []),
        ("status=&gravity=&q=&limit=&offset=&q=", None),
        ("q=nobody", []),
    ],
)
def test_groups_can_be_chosen(query: str, expected: list[str] | None):
    told = client(mixed()).get(f"/api/clusters/prod/groups?{query}")

    assert told.status_code == 200
    assert names(told) == expected if expected is not None else len(names(told)) == 6


def test_a_group_is_told_with_every_partition_and_what_its_status_rests_on():
    told = client(mixed()).get("/api/clusters/prod/groups/billing").json()

    assert [one["partition"] for one in told["partitions"]] == [3, 1, 5, 0, 2, 4]
    first = told["partitions"][0]
    samples = first.pop("samples")
    assert first == {
        "topic": "orders",
        "partition": 3,
        "status": "STALLED",
        "gravity": "ERROR",
        "reason": "10.0.0.7 has held it for 9 min and committed 88,120 each time, while 4,310 records came",
        "evidence": {"commits": 31, "span_seconds": 540.5, "committed": 88120, "head_moved": 4310, "last_commit": None},
        "since": "2026-07-25T17:15:50.000Z",
        "committed": 88120,
        "end": 92430,
        "lag": 4310,
        "seconds": 545,
        "owner": "10.0.0.7",
        "client_id": "billing-1",
        "burrow": "STALL",
    }
    assert len(samples) == 55 and samples[0] == {"at": "2026-07-25T17:11:00.000Z", "lag": 0}


def test_what_is_no_number_and_no_time_is_null():
    nan, inf = float("nan"), float("inf")
    evidence = {"rate": nan, "most": inf, "word": "x"}
    odd = partition(0, evidence=evidence, seconds=nan, since=inf, samples=((nan, inf), (1e300, 1.5)))
    views = Views({"prod": [group("odd", seconds=-inf, since=7.85e18, partitions=(odd,))]})
    answer = client(views).get("/api/clusters/prod/groups/odd")
    told = answer.json()

    assert "NaN" not in answer.text and "Infinity" not in answer.text
    assert (told["seconds"], told["since"]) == (None, None)
    (one,) = told["partitions"]
    assert one["evidence"] == {"rate": None, "most": None, "word": "x"} and one["seconds"] is None
    assert one["samples"] == [{"at": None, "lag": None}, {"at": None, "lag": 1.5}]


def test_disagreements_name_both_judges():
    told = client(mixed()).get("/api/clusters/prod/disagreements").json()

    assert told == {
        "cluster": "prod",
        "disagreements": [
            {"group": "audit-eos", "topic": "orders", "partition": 0, "ours": "OK", "burrow": "STOP",
             "reason": "only a transaction's marker is left"},
        ],
    }  # fmt: skip
    assert client(mixed()).get("/api/clusters/edge/disagreements").json()["disagreements"] == []


def test_incidents_are_told_as_they_are_with_times_as_everywhere():
    told = client(incidents=[incident(status=Status.STALLED, rate=float("nan"), tags={"x"})]).get("/api/incidents").json()

    assert told == {
        "incidents": [
            {
                "id": "5f0c",
                "cluster": "prod",
                "group": "billing",
                "began": "2026-07-25T17:06:00.000Z",
                "opened_at": "2026-07-25T17:07:00.000Z",
                "last_sent": None,
                "severity": "page",
                "reading": {
                    "status": "STALLED",
                    "gravity": 3,
                    "reason": "orders-3 does not get on",
                    "since": "2026-07-25T17:05:50.000Z",
                },
                "rate": None,
                "tags": ["x"],
            },
        ]
    }


@pytest.mark.parametrize(
    ("path", "code", "sentence"),
    [
        ("/api/clusters/none", 404, "no cluster is called 'none': there is prod, edge."),
        ("/api/clusters/none/groups", 404, "no cluster is called 'none'"),
        ("/api/clusters/none/groups/x", 404, "no cluster is called 'none'"),
        ("/api/clusters/none/disagreements", 404, "no cluster is called 'none'"),
        ("/api/clusters/prod/groups/nobody", 404, "cluster 'prod' has no group 'nobody'"),
        ("/api/nothing", 404, "there is nothing at /api/nothing"),
        ("/api", 404, "there is nothing at /api: start at /api/clusters."),
        ("/api/clusters/prod/groups?status=bad", 400, "no status is called 'bad': there are OK, EMPTY_GROUP"),
        ("/api/clusters/prod/groups?gravity=bad", 400, "no gravity is called 'bad': there are ok, note, warning, error."),
        ("/api/clusters/prod/groups?limit=0", 400, "limit='0' is not a whole number from 1 to 10000."),
        ("/api/clusters/prod/groups?limit=many", 400, "limit='many' is not"),
        ("/api/clusters/prod/groups?limit=10001", 400, "limit='10001' is not"),
        ("/api/clusters/prod/groups?offset=-1", 400, "offset='-1' is not a whole number from 0"),
        ("/api/clusters/prod/groups?offset=1e400", 400, "offset='1e400' is not"),
    ],
)
def test_an_error_is_one_sentence(path: str, code: int, sentence: str):
    told = client(mixed()).get(path)

    assert (told.status_code, list(told.json())) == (code, ["error"])
    assert sentence in told.json()["error"]


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_path_can_hold_is_asked_for_in_the_query(name: str):
    views = Views({"prod": [group(name)]})

    assert client(views).get("/api/clusters/prod/group", params={"name": name}).json()["group"] == name


@pytest.mark.slow
@given(name=st.text(min_size=1), reason=st.text())
def test_any_name_is_found_and_told(name: str, reason: str):
    if name in (".", ".."):
        return
    views = Views({name: [replace(group(name, reason=reason, burrow=Burrow.WARN), cluster=name)]})
    path = quote(name, safe="", errors="replace")
    told = client(views).get(f"/api/clusters/{path}/groups/{path}")

    assert told.status_code == 200, told.text
    assert json.loads(told.text)["group"] == name


def test_a_clock_that_is_ahead_does_no_harm():
    assert client(Views({"prod": [group("a", since=NOW + 500)]})).get("/").status_code == 200
