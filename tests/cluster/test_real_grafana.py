"""The promises of tests/pure/test_dashboards_push_contract.py, kept by the real Grafana at GRAFANA_URL, with GRAFANA_TOKEN.

The token is that of a service account with the role Editor. Everything it makes has a name of its own and is removed,
annotations excepted.
"""

import os
from collections.abc import Iterator

import pytest

from dashboards.build import dashboards
from tests.pure import test_dashboards_push_contract as contract
from tests.pure.test_dashboards_push_contract import *  # noqa: F403
from tests.pure.test_dashboards_push_contract import Somewhere, pushed

pytestmark = pytest.mark.skipif(
    not (os.environ.get("GRAFANA_URL") and os.environ.get("GRAFANA_TOKEN")),
    reason="needs a Grafana: set GRAFANA_URL and GRAFANA_TOKEN",
)


@pytest.fixture
def somewhere() -> Iterator[Somewhere]:
    grafana = Somewhere(os.environ["GRAFANA_URL"].rstrip("/"), os.environ["GRAFANA_TOKEN"])
    try:
        yield grafana
    finally:
        grafana.tidy()


def test_our_own_dashboards_are_taken_and_unchanged_the_second_time(somewhere: Somewhere):
    own = [{**board, "uid": f"{somewhere.tag}-{board['uid']}"[:40], "title": f"{board['title']} {somewhere.tag}"}
           for board in dashboards().values()]  # fmt: skip
    folder = somewhere.folder("own")

    assert set(pushed(somewhere, *own, folder=folder, create_folder=True)) == {"created"}
    assert set(pushed(somewhere, *own, folder=folder)) == {"unchanged"}


def test_every_promise_is_asked_of_the_real_one():
    assert {name for name in vars(contract) if name.startswith("test_")} <= set(globals())
