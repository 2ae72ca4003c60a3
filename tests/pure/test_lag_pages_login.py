"""Pages that a daemon hands to its site stand behind the same login as its metrics, and its probes do not."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_trial.daemon.serving import Site, application
from lag_monitor.pages.routes import routes
from tests.pure.lag_views import NOW, SETTINGS, State, mixed, state

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a newer httpx
    from starlette.testclient import TestClient

LOGIN = ("prometheus", "s3cret")
PATHS = (
    "/",
    "/api/clusters",
    "/v3/kafka",
    "/v3/kafka/local/consumer/a%2Fb/status",
    "/clusters/prod/groups/billing",
    "/metrics",
)


@contextmanager
def daemon(username: str, password: str, burrow: State) -> Iterator[TestClient]:
    pages = routes(mixed(), burrow, SETTINGS, lambda: True, list, "t0ken", clock=lambda: NOW)
    with socket.socket() as unused:
        site = Site(unused, lambda _: ("text/plain", b"metrics\n"), lambda: True, None, username, password, pages)
        yield TestClient(application(site), follow_redirects=False)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_asks_for_the_password_where_one_is_set(path: str):
    with daemon(*LOGIN, state()) as asking:
        nobody = asking.get(path)

        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, 'Basic realm="kafka-trial"')
        assert "billing" not in nobody.text
        assert asking.get(path, auth=("prometheus", "wrong")).status_code == 401
        assert asking.get(path, auth=LOGIN).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_open_where_none_is_set(path: str):
    with daemon("", "", state()) as asking:
        assert asking.get(path).status_code == 200


def test_probes_have_no_password():
    with daemon(*LOGIN, state()) as asking:
        assert (asking.get("/-/healthy").text, asking.get("/-/ready").text) == ("healthy\n", "ready\n")


def test_with_a_login_the_token_comes_in_a_header_of_its_own():
    known = state()
    with daemon(*LOGIN, known) as asking:
        path = "/v3/kafka/local/consumer/billing"

        assert asking.delete(path, headers={"x-delete-token": "t0ken"}).status_code == 401
        assert asking.delete(path, headers={"authorization": "Bearer t0ken"}).status_code == 401
        assert asking.delete(path, auth=LOGIN).status_code == 401
        assert known.deleted == []
        assert asking.delete(path, auth=LOGIN, headers={"x-delete-token": "t0ken"}).status_code == 200
        assert known.deleted == [("local", "billing", None)]


def test_what_is_not_there_is_404_and_what_may_not_be_is_405():
    with daemon(*LOGIN, state()) as asking:
        assert asking.get("/nowhere", auth=LOGIN).status_code == 404
        assert asking.post("/v3/kafka", auth=LOGIN).status_code == 405
        assert asking.get("/nowhere").status_code == 401
