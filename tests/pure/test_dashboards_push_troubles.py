"""Everything that can be wrong between us and a Grafana is one sentence with its exit code, and none holds the token."""

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from dashboards.push.address import address_of
from dashboards.push.grafana_api_port import GrafanaApiPort
from dashboards.push.port import Annotation
from dashboards.push.push import planned, push
from dashboards.push.token import token_from
from kernel.errors import SuiteError, UsageError
from tests.grafana_server import EVERYTHING, TOKEN, Answer, Dropped, Grafana, serving

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

BOARD = {"uid": "one", "title": "One", "panels": []}


@pytest.fixture
def server() -> Iterator[Grafana]:
    with serving() as grafana:
        yield grafana


def port(server: Grafana, **more: Any) -> GrafanaApiPort:
    return GrafanaApiPort(server.url, TOKEN, **more)


def trouble(do: Callable[[], Any]) -> SuiteError:
    with pytest.raises(SuiteError) as told:
        do()
    assert TOKEN not in told.value.message and TOKEN not in repr(told.value) and TOKEN not in str(told.value.facts)
    assert told.value.message.endswith(".") and "\n" not in told.value.message
    return told.value


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("https://example.org/grafana/", "https://example.org/grafana"),
        ("https://example.org:8443/a/b", "https://example.org:8443/a/b"),
        ("http://[::1]:3000/", "http://[::1]:3000"),
    ],
)
def test_an_address_is_taken_apart_and_put_together(url: str, parts: str):
    assert str(address_of(url)) == parts
    assert GrafanaApiPort(url, TOKEN)._face.api.url == f"{parts}/api"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:3000", "is no address of a Grafana"),
        ("ftp://host", "is no address of a Grafana"),
        ("", "is no address of a Grafana"),
        ("http://", "is no address of a Grafana"),
        ("http://host name", "is no address of a Grafana"),
        ("http://host:99999", "is not a URL"),
        ("http://host/d/x?orgId=1", "one page of a Grafana"),
        ("http://admin:hunter2@host", "holds a user name or password"),
    ],
)
def test_an_address_that_is_none(url: str, words: str):
    told = trouble(lambda: address_of(url))

    assert words in told.message and "hunter2" not in told.message and told.exit_code == 2


def test_nobody_answers():
    with serving() as gone:
        pass

    told = trouble(lambda: port(gone).version())
    assert f"no Grafana answers at {gone.url} (Connection refused)" in told.message and told.exit_code == 2


def test_a_host_that_is_not_known():
    told = trouble(lambda: GrafanaApiPort("http://no-such-host.invalid", TOKEN).version())

    assert "no Grafana answers at http://no-such-host.invalid" in told.message and "HTTPConnection" not in told.message


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>Welcome</html>"),
        Answer(200, b""),
        Answer(200, ["up"]),
        Answer(200, {"status": "success", "data": {}}),  # a Prometheus
        Answer(404, b"404 page not found"),
        Answer(404, b"<html>the message is: not here</html>"),  # which grafana-api itself trips over
        Answer(404, ["message"]),
        Answer(502, b"<html>Bad Gateway</html>"),
        Answer(400, b"null"),
    ],
)
def test_something_else_answers(server: Grafana, answer: Answer):
    def instead(query: Any, body: Any) -> Any:
        raise answer

    server.health = instead  # type: ignore[method-assign]

    told = trouble(lambda: port(server).version())
    assert f"what answers at {server.url} is no Grafana" in told.message and told.exit_code == 2


ASKED: list[tuple[str, Callable[[GrafanaApiPort], Any]]] = [
    ("list its folders", lambda grafana: grafana.folders()),
    ("show a folder", lambda grafana: grafana.folder("x")),
    ("create the folder", lambda grafana: grafana.create_folder("x")),
    ("show dashboard one", lambda grafana: grafana.dashboard("one")),
    ("save dashboard one", lambda grafana: grafana.save(BOARD, version=None, folder="", message="")),
    ("show annotations", lambda grafana: grafana.annotations(["x"], start_ms=1, end_ms=2, limit=1)),
    ("write an annotation", lambda grafana: grafana.annotate(Annotation(1, 2, (), "x"))),
]


@pytest.mark.parametrize("answer", [{"hello": "world"}, ["hello"], [{"hello": "world"}], None, 7, b"<html>"])
@pytest.mark.parametrize(("what", "do"), ASKED)
def test_an_answer_to_another_question_is_told(server: Grafana, what: str, do: Callable[[GrafanaApiPort], Any], answer: Any):
    def instead(method: str, path: str) -> None:
        raise Answer(200, answer)

    server.before = instead

    told = trouble(lambda: do(port(server)))
    assert "is no Grafana" in told.message and f"asked to {what}" in told.message


@pytest.mark.parametrize(
    ("status", "history"),
    [(200, {}), (200, []), (200, {"versions": None}), (200, {"versions": []}), (200, None), (404, {"message": "Not found"})],
)
def test_a_dashboard_without_a_history_counts_as_made_by_hand(server: Grafana, status: int, history: Any):
    push(port(server), planned(port(server), {"one": BOARD}))

    def instead(method: str, path: str) -> None:
        if path.endswith("/versions"):
            raise Answer(status, history)

    server.before = instead
    plan = planned(port(server), {"one": {**BOARD, "title": "New"}})
    assert "made or changed by hand" in trouble(lambda: push(port(server), plan)).message


def test_something_else_repeats_the_token_to_us(server: Grafana):
    def instead(method: str, path: str) -> None:
        raise Answer(400, {"message": f"you sent Authorization: Bearer {TOKEN}"})

    server.before = instead

    assert "***" in trouble(lambda: port(server).dashboard("one")).message


def test_a_path_that_grafana_does_not_have(server: Grafana):
    told = trouble(lambda: GrafanaApiPort(f"{server.url}/grafana", TOKEN).version())

    assert "is no Grafana" in told.message


def test_a_grafana_below_a_path():
    with serving(Grafana(prefix="/monitoring/grafana")) as server:
        (done,) = push(port(server), planned(port(server), {"one": BOARD}))

        assert done.address == f"{server.url}/d/one/one"
        stored = port(server).dashboard("one")
        assert stored and stored.address == done.address


def test_a_database_that_fails_is_grafanas_own_trouble(server: Grafana):
    server.healthy = False

    told = trouble(lambda: port(server).version())
    assert "failed to be asked for its version: 503" in told.message and told.exit_code == 4


def test_a_token_that_is_refused(server: Grafana):
    server.token = "another"

    told = trouble(lambda: port(server).dashboard("one"))
    assert "does not take the token" in told.message and told.exit_code == 2


@pytest.mark.parametrize(
    ("lacking", "do", "words"),
    [
        ("folders:read", lambda grafana: grafana.folders(), "may not list its folders"),
        ("folders:create", lambda grafana: grafana.create_folder("x"), "may not create the folder 'x'"),
        ("dashboards:read", lambda grafana: grafana.dashboard("one"), "may not show dashboard one"),
        ("dashboards:write", lambda grafana: grafana.save(BOARD, version=None, folder="", message=""), "may not save dash"),
        ("dashboards:delete", lambda grafana: grafana.delete("one"), "may not delete dashboard one"),
        ("annotations:create", lambda grafana: grafana.annotate(Annotation(1, 2, (), "x")), "may not write an annotation"),
    ],
)
def test_a_token_that_may_not(server: Grafana, lacking: str, do: Callable[[GrafanaApiPort], Any], words: str):
    server.permissions = EVERYTHING - {lacking}

    told = trouble(lambda: do(port(server)))
    assert words in told.message and lacking in told.message and told.exit_code == 2


def test_a_grafana_that_does_not_answer_in_time(server: Grafana):
    server.before = lambda method, path: time.sleep(1)

    began = time.monotonic()
    told = trouble(lambda: port(server, timeout=0.2).dashboard("one"))
    assert "did not answer within 0.2 s" in told.message and told.exit_code == 4 and time.monotonic() - began < 0.9


def test_a_connection_that_ends_without_an_answer(server: Grafana):
    def drop(method: str, path: str) -> None:
        raise Dropped

    server.before = drop

    assert "no Grafana answers" in trouble(lambda: port(server).dashboard("one")).message


def test_a_server_error_is_told_with_its_words(server: Grafana):
    def fail(method: str, path: str) -> None:
        raise Answer(500, {"message": "Failed to get\n dashboard."})

    server.before = fail

    told = trouble(lambda: port(server).dashboard("one"))
    assert "failed to show dashboard one: 500 Failed to get dashboard. Try again." in told.message and told.exit_code == 4


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def encrypted(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


def test_a_certificate_is_trusted_by_its_authority_alone(authority: trustme.CA, tmp_path: Path):
    ours, other = tmp_path / "ours.pem", tmp_path / "other.pem"
    authority.cert_pem.write_to_path(str(ours))
    trustme.CA().cert_pem.write_to_path(str(other))
    with serving(tls=encrypted(authority)) as server:
        assert port(server, ca_file=ours).version() == "11.1.0"
        for ca_file in (None, other):
            told = trouble(lambda ca_file=ca_file: port(server, ca_file=ca_file).version())
            assert "is not trusted" in told.message and "--ca-file" in told.message and told.exit_code == 2


def test_a_ca_file_that_is_not_there():
    told = trouble(lambda: GrafanaApiPort("https://localhost", TOKEN, ca_file=Path("no-such.pem")))

    assert "the CA file no-such.pem is not there" in told.message


def test_a_ca_file_that_is_none(authority: trustme.CA, tmp_path: Path):
    (tmp_path / "ca.pem").write_text("hello")
    with serving(tls=encrypted(authority)) as server:
        told = trouble(lambda: port(server, ca_file=tmp_path / "ca.pem").version())

    assert told.exit_code == 2 and "ca.pem" in told.message


def test_a_page_to_log_in_is_not_taken_for_a_grafana():
    seen: list[str] = []

    class Login(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/login")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    web = HTTPServer(("127.0.0.1", 0), Login)
    threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        told = trouble(lambda: GrafanaApiPort(f"http://127.0.0.1:{web.server_port}", TOKEN).version())
    finally:
        web.shutdown()
        web.server_close()
    assert "sends us on to /login" in told.message and seen == ["/api/health"] and told.exit_code == 2


def test_an_answer_without_a_word_to_a_delete_is_one(server: Grafana):
    def gone(method: str, path: str) -> None:
        raise Answer(200, b"")

    server.before = gone
    port(server).delete("one")

    assert server.writes == [("DELETE", "/api/dashboards/uid/one")]


@pytest.mark.parametrize(
    ("status", "words"),
    [("plugin-dashboard", "belongs to a plugin"), ("name-exists", "of this title"), ("other", "Grafana says: Why not")],
)
def test_why_a_save_was_refused(server: Grafana, status: str, words: str):
    def refuse(method: str, path: str) -> None:
        raise Answer(412, {"message": "Why not", "status": status})

    server.before = refuse

    told = trouble(lambda: port(server).save(BOARD, version=None, folder="", message=""))
    assert words in told.message and told.exit_code == 1


def test_the_same_title_twice_in_a_folder_of_an_old_grafana():
    with serving(Grafana(major=10)) as server:
        wanted = {"one": BOARD, "two": {**BOARD, "uid": "two"}}
        told = trouble(lambda: push(port(server), planned(port(server), wanted)))

        assert "another dashboard of this title" in told.message and "one dashboard was taken back" in told.message
        assert server.boards == {}


def test_a_dashboard_from_files_is_not_touched(server: Grafana):
    push(port(server), planned(port(server), {"one": BOARD}))
    server.boards["one"].provisioned = True
    server.seen.clear()
    plan = planned(port(server), {"one": {**BOARD, "title": "New"}})

    told = trouble(lambda: push(port(server), plan, overwrite=True))
    assert "provisioning files" in told.message and (told.exit_code, server.writes) == (1, [])


# ---- what is half done when Grafana goes -------------------------------------------------------------------------


def on_save(number: int, action: Callable[[], None]) -> Callable[[str, str], None]:
    """The n-th save, and none after it."""
    saves: list[str] = []

    def hook(method: str, path: str) -> None:
        if path == "/api/dashboards/db":
            saves.append(path)
            if len(saves) == number:
                action()

    return hook


def drop() -> None:
    raise Dropped


TWO = {"one": BOARD, "two": {**BOARD, "uid": "two", "title": "Two"}}


def test_a_save_that_was_made_and_never_answered_is_taken_back_too(server: Grafana):
    server.after = on_save(2, drop)

    told = trouble(lambda: push(port(server), planned(port(server), TWO)))
    assert "Nothing is half pushed: 2 dashboards were taken back." in told.message
    assert server.boards == {}


def test_a_save_that_never_arrived_leaves_the_others_taken_back(server: Grafana):
    server.before = on_save(2, drop)

    told = trouble(lambda: push(port(server), planned(port(server), TWO)))
    assert "one dashboard was taken back" in told.message and server.boards == {}


def test_an_update_that_never_answered_is_put_back_with_its_message(server: Grafana):
    push(port(server), planned(port(server), TWO))
    before = server.boards["two"].content["title"], server.message("two")
    server.after = on_save(1, drop)

    told = trouble(lambda: push(port(server), planned(port(server), {"two": {**TWO["two"], "title": "Three"}})))
    assert "taken back" in told.message
    assert (server.boards["two"].content["title"], server.message("two")) == before


def test_what_could_not_be_taken_back_is_named(server: Grafana):
    def from_now_on() -> None:
        server.before = lambda method, path: drop()
        raise Dropped

    server.before = on_save(2, from_now_on)

    told = trouble(lambda: push(port(server), planned(port(server), TWO)))
    assert "could not all be taken back: One stayed as pushed. Whether Two was saved cannot be told." in told.message
    assert told.left == ["One"]


def test_somebody_elses_change_since_is_not_taken_back(server: Grafana):
    """Between our first save and the failure of the second, somebody saves the first."""
    push(port(server), planned(port(server), TWO))

    def edit_and_fail() -> None:
        server.edit("one", "mine", title="Mine")
        raise Answer(500, {"message": "no"})

    server.before = on_save(2, edit_and_fail)
    wanted = {name: {**board, "tags": ["new"]} for name, board in TWO.items()}

    told = trouble(lambda: push(port(server), planned(port(server), wanted)))
    assert "One stayed" in told.message and server.boards["one"].content["title"] == "Mine"


def test_somebody_who_gives_up_leaves_nothing_half_pushed(server: Grafana):
    server.after = on_save(1, lambda: None)
    grafana = port(server)
    save, saves = grafana.save, []

    def interrupted(*args: Any, **more: Any) -> Any:
        saves.append(args)
        if len(saves) == 2:
            raise KeyboardInterrupt
        return save(*args, **more)

    grafana.save = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        push(grafana, planned(grafana, TWO))
    assert server.boards == {}


# ---- the token ----------------------------------------------------------------------------------------------------


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN}\n")

    assert token_from(file, {"GRAFANA_TOKEN": "other"}) == TOKEN
    assert token_from(None, {"GRAFANA_TOKEN": TOKEN, "GRAFANA_TOKEN_FILE": "/no/such"}) == TOKEN
    assert token_from(None, {"GRAFANA_TOKEN_FILE": str(file)}) == TOKEN


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        (f"{TOKEN} x", "is no token"),
        (f"{TOKEN}\nx", "is no token"),
        (f"{TOKEN}é", "is no token"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_token_that_is_none(tmp_path: Path, content: str | None, words: str):
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content, encoding="utf-8")

    told = trouble(lambda: token_from(file, {}))
    assert words in told.message and told.exit_code == 2


def test_a_file_that_is_not_text(tmp_path: Path):
    (tmp_path / "token").write_bytes(b"\xff\xfe\x00")

    assert "not text" in trouble(lambda: token_from(tmp_path / "token", {})).message


@pytest.mark.parametrize("environment", [{}, {"GRAFANA_TOKEN": ""}, {"GRAFANA_TOKEN": " "}])
def test_no_token_at_all(environment: dict[str, str]):
    told = trouble(lambda: token_from(None, environment))

    assert "none was given" in told.message and isinstance(told, UsageError)


def test_the_token_is_in_no_log_and_no_repr(server: Grafana, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    grafana = port(server)
    push(grafana, planned(grafana, {"one": BOARD}))

    assert "/api/dashboards/db" in caplog.text and TOKEN not in caplog.text
    assert not any(TOKEN in repr(value) for value in (grafana, *vars(grafana).values(), *vars(grafana._face).values()))
