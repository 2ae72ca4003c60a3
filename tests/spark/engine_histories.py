"""Many histories in one ledger: a Spark job for each would take hours, and side by side they do not touch each other.

Each gets names, transactions and values of its own, so that what is found in all of them is the sum of what is found
in each, and a finding's names tell which history it belongs to.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.checkers.local import examine as examine_locally
from kernel.verdict import Examined, Finding
from tests.pure import test_checkers
from tests.pure.histories import random_run, soiled_run, write_run

Row = dict[str, Any]
VALUES = 4096  # of each history
STAINS = (0, 1, 2, 4, 8)


@dataclass(frozen=True)
class Told:
    """A history: its rows, and what the manifest says of its clients."""

    rows: list[Row]
    clients: dict[str, Row]


def random_histories(count: int, seed: int) -> list[Told]:
    drawn = [random_run(seed + number, 4 + number % 57) for number in range(count)]
    return [Told(run.rows, run.manifest["clients"]) for run in drawn]


def soiled_histories(count: int, seed: int) -> list[Told]:
    drawn = [soiled_run(seed + number, 10 + number % 50, STAINS[number % 5]) for number in range(count)]
    return [Told(run.rows, run.manifest["clients"]) for run in drawn]


def cases_of_the_checkers() -> list[Told]:
    """Every history by which the local engine's checkers are tested, borders included."""
    cases: list[Told] = []

    def found(*rows: Row, **clients: Row) -> dict[str, int]:
        cases.append(Told([dict(row) for row in rows], clients))
        return Anything()

    for test in vars(test_checkers).values():
        if not inspect.isfunction(test) or "found" not in (wanted := inspect.signature(test).parameters):
            continue
        for kind in ("assign", "revoke", "lost") if "kind" in wanted else (None,):
            test(found) if kind is None else test(found, kind)
    return cases


class Anything(dict[str, int]):
    """Equal to whatever a test expects, so that it goes on to its next history."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


def side_by_side(histories: Iterable[Told]) -> Told:
    rows: list[Row] = []
    clients: dict[str, Row] = {}
    for number, history in enumerate(histories):
        rows += [_renamed(row, number) for row in history.rows]
        clients |= {f"h{number}.{name}": facts for name, facts in history.clients.items()}
    return Told(rows, clients)


def _renamed(row: Row, number: int) -> Row:
    names = {key: f"h{number}.{row[key]}" for key in ("client", "txn", "topic") if row.get(key) is not None}
    value = {"value": row["value"] + number * VALUES} if row.get("value") is not None else {}
    return row | names | value


def written(place: Path, history: Told, files: int = 2) -> Path:
    return write_run(place, history.rows, files=files, manifest={"clients": history.clients}) / "ledger"


def counts_of_each(place: Path, histories: list[Told]) -> list[dict[str, int]]:
    """What the local engine finds in each by itself."""
    ledgers = [written(place / str(number), history) for number, history in enumerate(histories)]
    found = [examine_locally(ledger, told.clients).counts for ledger, told in zip(ledgers, histories, strict=True)]
    return [{name: count for name, count in counts.items() if count} for counts in found]


def findings_of_each(examined: Examined, count: int) -> list[dict[str, int]]:
    """How many findings of each anomaly bear the names of each history."""
    of: list[Counter[str]] = [Counter() for _ in range(count)]
    for finding in examined.findings:
        of[_number(finding)][finding.name] += 1
    return [dict(counter) for counter in of]


def _number(finding: Finding) -> int:
    name = finding.client or finding.txn or finding.topic or ""
    return int(name.split(".")[0].removeprefix("h"))


def facts(examined: Examined) -> tuple[Any, ...]:
    """All but the findings."""
    return examined.rows, examined.acknowledged, examined.read, examined.undrained, examined.counts, examined.troubles


def sentences(examined: Examined, most: int) -> set[tuple[str, ...]]:
    """Of anomalies that are all told. Where one lists transactions or places, engines may list them in another order."""
    told = [finding for finding in examined.findings if examined.counts[finding.name] <= most]
    return {(finding.name, *sorted(re.findall(r"[^\s,]+", finding.sentence))) for finding in told}
