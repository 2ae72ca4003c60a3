"""File names of pages: from whatever a run called itself, to a place inside the site that nobody else has."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_reports.site.addresses import Addresses, Links
from tests.pure.nightly_example import example_report

ONE = example_report(names=("storm",), versions=("4.3.1",), nights=1, repeats=1, baseline=False)
names = st.lists(st.text(max_size=40) | st.sampled_from(["a/b", "a_b", "A_b", "..", ".", "", "/", "x" * 400]), unique=True)


def filed(scenarios: list[str], keys: list[str]) -> Addresses:
    return Addresses(
        ONE.model_copy(
            update={
                "scenarios": [ONE.scenarios[0].model_copy(update={"name": name}) for name in scenarios],
                "runs": [ONE.runs[0].model_copy(update={"key": key}) for key in keys],
            }
        )
    )


def test_an_ordinary_key_keeps_its_words():
    addresses = filed(["leader-election"], ["2026-11-17/leader-election/034032-1ec8"])

    assert addresses.run("2026-11-17/leader-election/034032-1ec8") == "runs/2026-11-17_leader-election_034032-1ec8.html"
    assert addresses.scenario("leader-election") == "scenarios/leader-election.html"


def test_who_has_no_page_has_no_address():
    addresses = filed(["storm"], [])

    assert (addresses.scenario("gone"), addresses.run("2026-11-17/gone/1")) == (None, None)
    assert Links(addresses, "../").run("2026-11-17/gone/1") is None


@pytest.mark.slow
@given(names)
def test_no_two_names_share_a_page_and_none_leaves_the_site(some: list[str]):
    addresses = filed([], some)
    files = [str(addresses.run(name)) for name in some]

    assert len({file.lower() for file in files}) == len(some)
    for file in files:
        assert re.fullmatch(r"runs/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*\.html", file) and len(file) < 200


@pytest.mark.parametrize(("root", "expected"), [("", "scenarios/storm.html"), ("../", "../scenarios/storm.html")])
def test_a_link_begins_where_its_page_lies(root: str, expected: str):
    assert Links(filed(["storm"], []), root).scenario("storm") == expected


@pytest.mark.parametrize("root", ["", "../"])
def test_a_scheme_in_a_foreign_address_is_only_a_name(root: str):
    assert Links(filed([], []), root).own_report("javascript:x") == f"{root or './'}javascript%3Ax"
