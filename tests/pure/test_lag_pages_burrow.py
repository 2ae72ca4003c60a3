"""Burrow's HTTP API as its clients know it: every route, to the letter."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from socket import gethostname
from urllib.parse import quote

import pytest

from lag_monitor.pages.go_json import single, written
from tests.pure.lag_views import ABOUT, SETTINGS, State, client, state

HOST = gethostname()
START = '{"offset":100,"timestamp":1785000000123,"observedAt":1785000000000,"lag":5}'
END = '{"offset":100,"timestamp":1785000010456,"observedAt":1785000010000,"lag":null}'
WELL = (
    '{"topic":"orders","partition":0,"owner":"10.0.0.7","client_id":"billing-1","status":"OK",'
    f'"start":{START},"end":{END},"current_lag":0,"complete":1}}'
)
BAD = (
    '{"topic":"orders","partition":1,"owner":"","client_id":"","status":"STALL",'
    f'"start":{START},"end":{END},"current_lag":42,"complete":0.33333334}}'
)
BARE = (
    '{"topic":"orders","partition":2,"owner":"","client_id":"","status":"OK",'
    '"start":null,"end":null,"current_lag":0,"complete":0}'
)
PROFILE = '{"name":"local","client-id":"kafka-trial-lag","kafka-version":"","tls":null,"sasl":null}'
CLUSTER = (
    f'{{"class-name":"kafka","servers":["127.0.0.1:9092"],"client-profile":{PROFILE},'
    '"topic-refresh":60,"offset-refresh":10}'
)


def group_status(name: str, status: str, complete: str, partitions: str, count: int, maxlag: str, total: int) -> str:
    return (
        f'"status":{{"cluster":"local","group":"{name}","status":"{status}","complete":{complete},'
        f'"partitions":[{partitions}],"partition_count":{count},"maxlag":{maxlag},"totallag":{total}}}'
    )


ANSWERS = {
    "/v3/kafka": ("cluster list returned", '"clusters":["local"]'),
    "/v3/kafka/local": ("cluster module detail returned", f'"module":{CLUSTER}'),
    "/v3/config/cluster/local": ("cluster module detail returned", f'"module":{CLUSTER}'),
    "/v3/kafka/local/topic": ("topic list returned", '"topics":["orders","bare"]'),
    "/v3/kafka/local/topic/orders": ("topic offsets returned", '"offsets":[100,142]'),
    "/v3/kafka/local/topic/bare": ("topic offsets returned", '"offsets":[]'),
    "/v3/kafka/local/topic/orders/consumers": ("consumers of topic returned", '"consumers":["billing"]'),
    "/v3/kafka/local/topic/nothing/consumers": ("consumers of topic returned", '"consumers":[]'),
    "/v3/kafka/local/consumer": ("consumer list returned", '"consumers":["billing","a/b"]'),
    "/v3/kafka/local/consumer/billing": (
        "consumer detail returned",
        f'"topics":{{"audit":[],"orders":[{{"offsets":[null,{START},{END}],"owner":"10.0.0.7","client_id":"billing-1",'
        '"current-lag":0},{"offsets":[],"owner":"","client_id":"","current-lag":0}]}',
    ),
    "/v3/kafka/local/consumer/billing/status": (
        "consumer status returned",
        group_status("billing", "ERR", "0.33333334", BAD, 3, BAD, 42),
    ),
    "/v3/kafka/local/consumer/billing/lag": (
        "consumer status returned",
        group_status("billing", "ERR", "0.33333334", f"{WELL},{BAD},{BARE}", 3, BAD, 42),
    ),
    "/v3/admin/loglevel": ("log level returned", '"level":"warn"'),
}


@pytest.fixture(autouse=True)
def _level() -> Iterator[None]:
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.WARNING)
    yield
    logging.getLogger().setLevel(level)


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_is_burrows_to_the_letter(path: str):
    told = client(burrow=state()).get(path)

    message, content = ANSWERS[path]
    assert told.text == f'{{"error":false,"message":"{message}",{content},"request":{{"url":"{path}","host":"{HOST}"}}}}'
    assert (told.status_code, told.headers["content-type"]) == (200, "application/json")
    assert "access-control-allow-origin" not in told.headers


CONFIG = {
    "/v3/config": (
        '"message":"main config returned","request":{},'
        '"general":{"pidfile":"","stdout-logfile":"","access-control-allow-origin":""},'
        '"logging":{"filename":"","max-size":0,"max-backups":0,"max-age":0,"use-local-time":false,"use-compression":false,'
        '"level":"warn"},"zookeeper":{"servers":[],"timeout":0,"root-path":""},'
        '"httpserver":{"default":{"address":"127.0.0.1:8000","tls":"","timeout":0}}'
    ),
    **{
        f"/v3/config/{kind}": f'"message":"module list returned","request":{{}},"coordinator":"{kind}","modules":["{name}"]'
        for kind, name in {
            "storage": "default", "evaluator": "default", "cluster": "local", "consumer": "local", "notifier": "hook",
        }.items()
    },
    "/v3/config/storage/default": (
        '"message":"storage module detail returned","module":{"class-name":"inmemory","intervals":10,"min-distance":1,'
        '"group-allowlist":"","expire-group":604800,"group-denylist":"^tmp-"},"request":{}'
    ),
    "/v3/config/evaluator/default": (
        '"message":"evaluator module detail returned","module":{"class-name":"caching","expire-cache":10,"allowed-lag":0,'
        '"minimum-complete":0},"request":{}'
    ),
    "/v3/config/consumer/local": (
        '"message":"consumer module detail returned","module":{"class-name":"kafka","cluster":"local",'
        '"servers":["127.0.0.1:9092"],"group-allowlist":"","zookeeper-path":"","zookeeper-timeout":0,'
        f'"client-profile":{PROFILE},"offsets-topic":"__consumer_offsets","start-latest":false,'
        '"group-denylist":"^tmp-"},"request":{}'
    ),
    "/v3/config/notifier/hook": (
        '"message":"notifier module detail returned","module":{"class-name":"http",'
        '"url-open":"https://example.test/hook"},"request":{}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", CONFIG)
def test_the_configuration_is_told_in_burrows_terms(path: str):
    told = client(burrow=state()).get(path)

    asked = f'"request":{{"url":"{path}","host":"{HOST}"}}'
    assert told.text == f'{{"error":false,{CONFIG[path].replace(chr(34) + "request" + chr(34) + ":{}", asked)}}}'


def test_tls_and_sasl_are_told_without_their_secrets():
    known = State(about=replace(ABOUT, tls=True, sasl="SCRAM-SHA-512"))
    profile = client(burrow=known).get("/v3/kafka/local").json()["module"]["client-profile"]

    assert profile["tls"] == {"name": "local", "noverify": False, "certfile": "", "keyfile": "", "cafile": ""}
    assert profile["sasl"] == {"name": "SCRAM-SHA-512", "handshake-first": True, "username": ""}


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/v3/kafka/none", "cluster module not found"),
        ("/v3/kafka/none/topic", "cluster not found"),
        ("/v3/kafka/none/consumer", "cluster not found"),
        ("/v3/kafka/none/topic/orders/consumers", "cluster not found"),
        ("/v3/kafka/none/topic/orders", "cluster or topic not found"),
        ("/v3/kafka/local/topic/none", "cluster or topic not found"),
        ("/v3/kafka/none/consumer/billing", "cluster or consumer not found"),
        ("/v3/kafka/local/consumer/none", "cluster or consumer not found"),
        *[
            (f"/v3/config/{kind}/none", f"{kind} module not found")
            for kind in ("storage", "evaluator", "cluster", "consumer", "notifier")
        ],
    ],
)
def test_what_is_not_known_is_an_error(path: str, sentence: str):
    told = client(burrow=state()).get(path)

    assert told.status_code == 404
    assert told.text == f'{{"error":true,"message":"{sentence}","request":{{"url":"{path}","host":"{HOST}"}}}}'


@pytest.mark.parametrize("route", ["status", "lag"])
@pytest.mark.parametrize(("cluster", "group"), [("local", "none"), ("none", "billing")])
def test_the_status_of_an_unknown_group_is_404_and_yet_no_error(cluster: str, group: str, route: str):
    told = client(burrow=state()).get(f"/v3/kafka/{cluster}/consumer/{group}/{route}")

    assert told.status_code == 404
    content = group_status(group, "NOTFOUND", "1", "", 0, "null", 0).replace('"cluster":"local"', f'"cluster":"{cluster}"')
    assert told.text.startswith(f'{{"error":false,"message":"consumer status returned",{content},"request":')


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v3", "/v3/kafka/local/consumer/billing/2", "/v3/config/none", "/burrow", "/v2/kafka"]
)
def test_an_unknown_address_is_answered_in_plain_text(path: str):
    told = client(burrow=state()).get(path)

    assert (told.status_code, told.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert told.text == '{"error":true,"message":"invalid request type","result":{}}\n'


def test_a_slash_too_many_leads_to_where_it_was_meant_and_never_elsewhere():
    asking = client(burrow=state())

    assert asking.get("/v3/kafka/").headers["location"] == "/v3/kafka"
    assert asking.get("/v3/kafka/local/consumer/a%2Fb/").headers["location"] == "/v3/kafka/local/consumer/a%2Fb"
    assert asking.get("http://testserver//elsewhere.test/").headers["location"] == "/elsewhere.test"


def test_what_is_only_read_cannot_be_posted_to():
    assert client(burrow=state()).post("/v3/kafka").status_code == 405


@pytest.mark.parametrize("name", ["a/b", "a b", "ü", "%", "?", "#", "<b>", "a%2Fb", "x/status", "a\\b", "日本"])
def test_a_name_may_hold_any_character(name: str):
    known = state()
    known.groups[name] = replace(known.groups["a/b"], group=name)
    known.windows[name] = {}
    asking = client(burrow=known, token="t")
    path = f"/v3/kafka/local/consumer/{quote(name, safe='')}"

    told = asking.get(f"{path}/status")
    assert (told.status_code, told.json()["status"]["group"]) == (200, name)
    if "%" not in name:  # which the test client decodes twice
        assert told.json()["request"]["url"] == f"/v3/kafka/local/consumer/{name}/status"
    assert asking.get(path).json()["topics"] == {}
    assert asking.delete(path, headers={"x-delete-token": "t"}).status_code == 200
    assert known.deleted == [("local", name, None)]


def test_a_slash_that_is_not_encoded_is_not_part_of_a_name():
    assert (
        client(burrow=state())
        .get("/v3/kafka/local/consumer/a/b")
        .text.startswith('{"error":true,"message":"invalid request')
    )


def test_go_writes_what_a_browser_could_take_for_markup_as_escapes():
    assert (
        written({"group": "<a&b>\u2028ü\ud800"}) == '{"group":"\\u003ca\\u0026b\\u003e\\u2028ü\ufffd\ufffd\ufffd"}'.encode()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.5, "0.5"), (1 / 3, "0.33333334"), (0.33333334, "0.33333334"), (2 / 3, "0.6666667"),
     (0.1, "0.1"), (14 / 15, "0.93333334"), (1 / 15, "0.06666667")],
)  # fmt: skip
def test_a_share_is_the_shortest_number_that_is_the_same_in_32_bits(value: float, text: str):
    assert written(single(value)).decode() == text


def test_burrows_health_is_good_and_its_readiness_is_ours():
    assert client().get("/burrow/admin").text == "GOOD"
    assert (client().get("/burrow/admin/ready").status_code, client().get("/burrow/admin/ready").text) == (200, "READY")
    starting = client(ready=False).get("/burrow/admin/ready")
    assert (starting.status_code, starting.text) == (503, "STARTING")
    assert client(ready=False).get("/burrow/admin").status_code == 200


def test_another_origin_may_read_where_that_is_allowed():
    asking = client(burrow=state(), cors="https://wall.example.test")

    for path in ("/v3/kafka", "/v3/kafka/none/topic", "/burrow/admin", "/api/clusters"):
        assert asking.get(path).headers["access-control-allow-origin"] == "https://wall.example.test"
    assert asking.get("/v3/config").json()["general"]["access-control-allow-origin"] == "https://wall.example.test"


@pytest.mark.parametrize(
    ("word", "level", "told"),
    [
        ("debug", 10, "debug"), ("trace", 10, "debug"), ("info", 20, "info"), ("warn", 30, "warn"), ("WARNING", 30, "warn"),
        ("error", 40, "error"), ("fatal", 50, "fatal"),
    ],
)  # fmt: skip
def test_the_log_level_is_really_changed(word: str, level: int, told: str):
    asking = client()
    answer = asking.post("/v3/admin/loglevel", json={"level": word})

    assert answer.status_code == 200
    assert (
        answer.text
        == f'{{"error":false,"message":"set log level","request":{{"url":"/v3/admin/loglevel","host":"{HOST}"}}}}'
    )
    assert logging.getLogger().level == level
    assert asking.get("/v3/admin/loglevel").json()["level"] == told


@pytest.mark.parametrize("body", [b"", b"debug", b"[]", b'{"level":1}', b"{", b'"debug"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_request_changes_nothing(body: bytes):
    answer = client().post("/v3/admin/loglevel", content=body)

    assert (answer.status_code, answer.json()["message"]) == (400, "could not decode message body")
    assert answer.json()["error"] is True and logging.getLogger().level == logging.WARNING


@pytest.mark.parametrize("body", ['{"level":"loud"}', "{}", "null", '{"level":""}'])
def test_a_level_that_is_not_known_changes_nothing(body: str):
    answer = client().post("/v3/admin/loglevel", content=body)

    assert (answer.status_code, answer.json()["message"]) == (404, "unknown log level")
    assert logging.getLogger().level == logging.WARNING


@pytest.mark.parametrize(
    ("path", "deleted"),
    [
        ("/v3/kafka/local/consumer/billing", ("local", "billing", None)),
        ("/v3/kafka/local/consumer/billing/topic/orders", ("local", "billing", "orders")),
        ("/v3/kafka/none/consumer/nobody", ("none", "nobody", None)),
    ],
)
@pytest.mark.parametrize("headers", [{"authorization": "Bearer s3cret"}, {"x-delete-token": "s3cret"}])
def test_who_has_the_token_may_delete_even_what_is_not_there(
    path: str, deleted: tuple[str, str, str | None], headers: dict[str, str]
):
    known = state()
    answer = client(burrow=known, token="s3cret").delete(path, headers=headers)

    assert answer.status_code == 200 and known.deleted == [deleted]
    assert (
        answer.text == f'{{"error":false,"message":"consumer group removed","request":{{"url":"{path}","host":"{HOST}"}}}}'
    )


@pytest.mark.parametrize(
    ("token", "headers", "code", "sentence"),
    [
        ("", {}, 403, "deleting is switched off: set delete_token_file"),
        ("", {"authorization": "Bearer "}, 403, "deleting is switched off"),
        ("", {"x-delete-token": ""}, 403, "deleting is switched off"),
        ("s3cret", {}, 401, "deleting needs the token"),
        ("s3cret", {"authorization": "Basic s3cret"}, 401, "deleting needs the token"),
        ("s3cret", {"authorization": "Bearer"}, 401, "deleting needs the token"),
        ("s3cret", {"authorization": "Bearer s3cre"}, 403, "that is not the token"),
        ("s3cret", {"x-delete-token": "S3CRET"}, 403, "that is not the token"),
    ],
)
def test_who_has_not_the_token_may_not(token: str, headers: dict[str, str], code: int, sentence: str):
    known = state()
    answer = client(burrow=known, token=token).delete("/v3/kafka/local/consumer/billing", headers=headers)

    assert answer.status_code == code and known.deleted == []
    assert answer.json()["error"] is True and sentence in answer.json()["message"]
    assert ("www-authenticate" in answer.headers) == (code == 401)


def test_the_token_is_shown_nowhere():
    from lag_monitor.pages.burrow_v3 import Handlers

    assert "s3cret" not in repr(Handlers(state(), SETTINGS, lambda: True, "s3cret"))
