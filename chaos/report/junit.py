"""Verdicts as JUnit XML, for CI systems that show it: a suite per scenario, a case per run.

INCONCLUSIVE becomes an `<error>`: a trial that proved nothing must not turn a build green, and it is no failure of Kafka
either. Anything skipped or passed would say more than was seen.
"""

import re
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from chaos.report.block import verdict_block

# What XML 1.0 cannot carry, not even escaped: control characters, lone surrogates, two non-characters.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TAGS = {"FAIL": "failure", "INCONCLUSIVE": "error"}
Verdict = dict[str, Any]


def junit_xml(verdicts: list[Verdict]) -> str:
    """`started` and `duration_s` are used where a verdict has them; `seconds`, the time of judging, is not the run's."""
    root = Element("testsuites", _totals(verdicts) | {"name": "kafka-trial"})
    for scenario, runs in groupby(sorted(verdicts, key=_scenario), key=_scenario):
        _suite(root, scenario, list(runs))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, scenario: str, runs: list[Verdict]) -> None:
    facts = {"name": _clean(scenario), "id": str(len(root)), "package": "kafka-trial", "skipped": "0"} | _totals(runs)
    if started := min((str(run["started"]) for run in runs if run.get("started")), default=""):
        facts["timestamp"] = _clean(started)[:19]
    suite = SubElement(root, "testsuite", facts)
    for run in runs:
        name = _clean(run.get("run_id") or "run")
        case = SubElement(
            suite, "testcase", {"name": name, "classname": f"kafka-trial.{_clean(scenario)}", "time": _time([run])}
        )
        if tag := TAGS.get(str(run.get("verdict")), "" if run.get("verdict") == "PASS" else "error"):
            reasons = [str(reason) for reason in run.get("reasons") or ()]
            facts = {"message": _clean("; ".join(reasons) or "no reason was given"), "type": _clean(run.get("verdict"))}
            SubElement(case, tag, facts).text = _clean(verdict_block({"verdict": "?", **run}, {}))


def _totals(runs: list[Verdict]) -> dict[str, str]:
    failed = sum(run.get("verdict") == "FAIL" for run in runs)
    passed = sum(run.get("verdict") == "PASS" for run in runs)
    counts = {"tests": len(runs), "failures": failed, "errors": len(runs) - failed - passed}
    return {name: str(count) for name, count in counts.items()} | {"time": _time(runs)}


def _time(runs: list[Verdict]) -> str:
    return f"{sum(float(run.get('duration_s') or 0) for run in runs):.3f}"


def _scenario(run: Verdict) -> str:
    return str(run.get("scenario") or "run")


def _clean(text: object) -> str:
    return FORBIDDEN.sub("\ufffd", str(text))
