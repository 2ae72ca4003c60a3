"""JUnit and Markdown carry any text and stay JUnit and Markdown; only a pass is green."""

import re
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.report.junit import junit_xml
from chaos.report.markdown import markdown_summary
from chaos.report.rows import NONE
from chaos.report.words import clean
from kernel.verdict import ANOMALIES


def finding(name: str = "lost-write", offset: int | None = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "sentence": f"{name} {offset}", "topic": "orders", "partition": 0, "offset": offset} | more


UNFIT = "\x00\x1b\ud800"  # no XML can hold these


def parsed(runs: list[dict[str, Any]]) -> ET.Element:
    return ET.fromstring(junit_xml(runs).encode())  # noqa: S314  (our own)


def verdicts() -> list[dict[str, Any]]:
    clear = {"counts": dict.fromkeys(ANOMALIES, 0), "findings": [], "recovery": [], "reasons": []}
    return [
        clear | {"verdict": "PASS", "scenario": "kill-leader", "run_id": "r1", "acknowledged": 10, "duration_s": 1.5},
        clear | {"verdict": "FAIL", "scenario": "kill-leader", "run_id": "r2", "reasons": [f"4 | <gone> ]]> {UNFIT}"],
                 "findings": [finding(offset=number) for number in range(4)], "started": "2025-11-16T03:12:44.123+00:00"},
        clear | {"verdict": "INCONCLUSIVE", "scenario": "a<b|c", "run_id": "r3", "reasons": ["no bite", "`x` [y](z) *b*"]},
    ]  # fmt: skip


def test_junit_has_a_suite_per_scenario_and_a_case_per_run():
    root = parsed(verdicts())

    assert [(suite.get("name"), suite.get("tests")) for suite in root] == [("a<b|c", "1"), ("kill-leader", "2")]
    assert [case.get("name") for case in root.iter("testcase")] == ["r3", "r1", "r2"]
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }


def test_junit_is_green_for_a_pass_alone():
    cases = {case.get("name"): [child.tag for child in case] for case in parsed(verdicts()).iter("testcase")}

    assert cases == {"r1": [], "r2": ["failure"], "r3": ["error"]}


def test_junit_carries_any_text_and_still_is_xml():
    failure = next(parsed(verdicts()).iter("failure"))

    assert failure.get("message") == "4 | <gone> ]]> \ufffd\ufffd\ufffd"
    assert "orders-0 @ 0-3" in (failure.text or "")


@given(st.text())
@settings(max_examples=80)
def test_junit_survives_whatever_a_broker_says(text: str):
    assert parsed([{"verdict": "FAIL", "scenario": text, "run_id": text, "reasons": [text]}]).get("failures") == "1"


def test_junit_has_only_what_the_common_schema_knows():
    """Jenkins' junit-10.xsd, which most readers follow: elements, their order, attributes."""
    known = {
        "testsuites": {"name", "time", "tests", "failures", "errors"},
        "testsuite": {
            "name",
            "tests",
            "failures",
            "errors",
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        "testcase": {"name", "time", "classname", "group"},
        "failure": {"message", "type"},
        "error": {"message", "type"},
    }
    root = parsed(verdicts())

    for element in root.iter():
        assert set(element.attrib) <= known[element.tag], element.tag
        assert element.tag != "testsuite" or {"name", "tests", "failures", "errors"} <= set(element.attrib)
    assert [suite.get("timestamp") for suite in root] == [None, "2025-11-16T03:12:44"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_summary_has_a_row_per_run_and_details_of_what_did_not_pass():
    page = markdown_summary(verdicts())
    table = [line for line in page.splitlines() if line.startswith("|")]

    assert page.startswith("### kafka-trial: 1 PASS, 1 FAIL, 1 INCONCLUSIVE")
    assert len(table) == 2 + 3 and {len(cells(line)) for line in table} == {7}
    assert page.count("<details") == 2 and "orders-0 @ 0-3" in page


def test_the_summary_escapes_what_would_be_markup():
    page = markdown_summary(verdicts())

    assert "<gone>" not in page and "&lt;gone&gt;" in page
    assert "\\[y\\]\\(z\\)" in page and "\x1b" not in page
    assert "a&lt;b\\|c" in page


@given(st.text())
@settings(max_examples=80)
def test_no_text_of_a_run_breaks_the_table(text: str):
    run = {"verdict": "FAIL", "scenario": text, "run_id": text, "reasons": [text]}
    table = [line for line in markdown_summary([run]).split("\n") if line.startswith("|")]

    assert len(table) == 3 and len(cells(table[2])) == 7
    assert clean(text).isprintable()


def test_nothing_is_unknown_below_none():
    assert NONE < 0  # a maximum over unknown and known is the known one
