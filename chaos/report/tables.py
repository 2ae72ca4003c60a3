"""The page's tables as plain strings: what was found, how it recovered, what was configured, what happened when."""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from chaos.report.fold import Fold, fold
from chaos.report.timeline import Clock
from chaos.report.words import STAGES, gap_of, mapping, place, seconds
from kernel.verdict import ANOMALIES

MOST_EVENTS = 2000
MOST_ROWS = 400  # of a table of recovery: those with the longest gaps
SECRET = re.compile(r"password|secret|jaas|credential|private", re.I)
# What decides who leads, when, and what an acknowledgement is worth.
MATTERS = re.compile(
    r"min\.insync\.replicas|unclean\.leader|session\.timeout|heartbeat\.interval|replica\.(lag|fetch|socket)|replication\.factor"
    r"|quorum\..*(timeout|backoff)|transaction\..*timeout|rebalance|leader\.imbalance|message\.timestamp\.type|cleanup\.policy"
    r"|retention\.(ms|bytes)|flush\.(messages|ms)|process\.roles|group\.(consumer|protocol)|eligible"
)


@dataclass(frozen=True, slots=True)
class Table:
    head: list[str]
    rows: list[list[str]]
    marks: list[str]  # per row: ok, bad, unsure or nothing


def recovery(verdict: dict[str, Any]) -> tuple[Table, Table]:
    """What the fault touched or should not have touched; and the rest, of which there may be a thousand."""
    rows = verdict.get("recovery") or []
    telling = [row for row in rows if row.get("affected") is not False or row.get("within") is False]
    quiet = [row for row in rows if row.get("affected") is False and row.get("within") is not False]
    return _recovery(telling), _recovery(quiet)


def _recovery(rows: list[dict[str, Any]]) -> Table:
    rows = sorted(rows, key=lambda row: row.get("gap_s") or 0.0, reverse=True)[:MOST_ROWS] if len(rows) > MOST_ROWS else rows
    stages = {key: word for key, word in STAGES.items() if any(row.get(key) is not None for row in rows)}
    return Table(
        ["fault", "partition", "of", "affected", "gap", "bound", *stages.values(), "within"],
        [_recovered(row, stages) for row in rows],
        [_mark(row.get("within")) for row in rows],
    )


def _recovered(row: dict[str, Any], stages: Iterable[str]) -> list[str]:
    reached = [seconds(row.get(key)) for key in stages]
    bound = "not judged" if row.get("bound_s") is None else seconds(row["bound_s"])
    where = place(row.get("topic"), row.get("partition"))
    kind = {"send": "sends", "poll": "reads"}.get(str(row.get("kind")), str(row.get("kind")))
    return [
        str(row.get("fault")),
        where,
        kind,
        _yes(row.get("affected")),
        gap_of(row),
        bound,
        *reached,
        _yes(row.get("within")),
    ]


def latency(verdict: dict[str, Any]) -> Table:
    """Only where something was served in both: a percentile of nothing says nothing."""
    keys = ("quiet_p50_ms", "during_p50_ms", "quiet_p99_ms", "during_p99_ms")
    rows = [row for row in verdict.get("latency") or () if any(row.get(key) is not None for key in keys[1::2])]
    head = ["fault", "median in quiet", "median during", "99th percentile in quiet", "99th percentile during"]
    cells = [[str(row.get("fault")), *(_milliseconds(row.get(key)) for key in keys)] for row in rows]
    return Table(head, cells, [""] * len(cells))


def _milliseconds(value: object) -> str:
    return f"{value:.1f} ms" if isinstance(value, int | float) else "–"


def bounds(verdict: dict[str, Any]) -> list[tuple[str, str]]:
    """Each bound that was judged by, and the sum behind it."""
    known = {
        (row["bound_s"], str(row["why"])) for row in verdict.get("recovery") or () if row.get("bound_s") and row.get("why")
    }
    return [(seconds(bound), why) for bound, why in sorted(known, reverse=True)]


def expectations(verdict: dict[str, Any]) -> Table:
    rows = verdict.get("expectations") or []
    return Table(
        ["expectation", "in words", "held"],
        [
            [str(row.get("name")), str(row.get("sentence") or ""), _yes(row.get("holds"), unsure="cannot be told")]
            for row in rows
        ],
        [_mark(row.get("holds"), unsure="unsure") for row in rows],
    )


def contract(verdict: dict[str, Any]) -> Table:
    rows = verdict.get("contract") or []
    head = ["setting", "value", "promise", "observed"]
    return Table(head, [[str(row.get(key, "")) for key in head] for row in rows], [""] * len(rows))


@dataclass(frozen=True, slots=True)
class Findings:
    """By anomaly: how many there are in all, what the name means, and those that are told one by one."""

    name: str
    count: int
    meaning: str
    permitted: bool
    folds: list[Fold]


def findings(verdict: dict[str, Any]) -> list[Findings]:
    folds = fold(verdict.get("findings") or ())
    counts = {name: int(count) for name, count in (verdict.get("counts") or {}).items() if count}
    names = [*(name for name in ANOMALIES if name in counts), *(name for name in counts if name not in ANOMALIES)]
    allowed = set(verdict.get("permitted") or ())
    return [
        Findings(name, counts[name], ANOMALIES.get(name, ""), name in allowed, [one for one in folds if one.name == name])
        for name in names
    ]


def config(manifest: dict[str, Any]) -> Table:
    """What matters for a trial, and whatever is not the same on all brokers; a secret's value is never shown."""
    known = mapping(manifest.get("config"))
    rows = _per_node("broker", {node: mapping(settings) for node, settings in mapping(known.get("brokers")).items()})
    for topic, settings in mapping(known.get("topics")).items():
        given = mapping(mapping(mapping(manifest.get("topics")).get(topic)).get("config"))
        rows += [
            [f"topic {topic}", key, _value(key, value)]
            for key, value in sorted(mapping(settings).items())
            if key in given or MATTERS.search(key)
        ]
    return Table(["of", "setting", "value"], rows, [""] * len(rows))


def _per_node(noun: str, nodes: dict[str, dict[str, Any]]) -> list[list[str]]:
    rows = []
    for key in sorted({key for settings in nodes.values() for key in settings}):
        values = {node: _value(key, settings.get(key)) for node, settings in nodes.items()}
        if len(set(values.values())) > 1:
            rows += [[f"{noun} {node}", key, value] for node, value in values.items()]
        elif MATTERS.search(key):
            rows.append([f"every {noun}", key, next(iter(values.values()))])
    return rows


def clients(manifest: dict[str, Any]) -> Table:
    known = {name: mapping(facts) for name, facts in mapping(manifest.get("clients")).items()}
    rows = [
        [str(name), "  ".join(f"{key}={_value(key, value)}" for key, value in facts.items())]
        for name, facts in known.items()
    ]
    return Table(["client", "settings"], rows, [""] * len(rows))


def schedule(manifest: dict[str, Any]) -> Table:
    steps = manifest["schedule"] if isinstance(manifest.get("schedule"), list) else []
    rows = [[str(number), _compact(step)] for number, step in enumerate(steps, 1)]
    return Table(["step", "what"], rows, [""] * len(rows))


def events(told: list[dict[str, Any]], clock: Clock) -> Table:
    rows = [
        [f"{clock.seconds(event['t_ns']):.3f} s", str(event["event"]), _facts(event)] for event in islice(told, MOST_EVENTS)
    ]
    return Table(["at", "event", "facts"], rows, [""] * len(rows))


def again(path: Path, manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """What to type to judge the same evidence once more, and to break a new cluster the same way."""
    where = shlex.quote(str(path))
    words = ["kafka-trial", "run", str(manifest.get("scenario", "SCENARIO"))]
    words += [word for pair in mapping(manifest.get("options")).items() for word in ("-o", f"{pair[0]}={pair[1]}")]
    for name in ("settings", "seed", "brokers", "kafka", "provider", "security"):
        if isinstance(manifest.get(name), str | int):
            words += [f"--{name}", str(manifest[name])]
    permitted = manifest.get("permitted")
    words += ["--permit", ",".join(map(str, permitted))] if permitted and isinstance(permitted, list) else []
    words += ["--replay", str(path / "schedule.json")] if (path / "schedule.json").exists() else []
    return [("Judge it again", f"kafka-trial check {where}"), ("Run it again", shlex.join(words))]


def _facts(event: dict[str, Any]) -> str:
    return "  ".join(f"{key}={_compact(value)}" for key, value in event.items() if key not in ("t_ns", "event"))


def _compact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _value(key: str, value: object) -> str:
    if SECRET.search(key) and value is not None:
        return "(hidden)"
    return "–" if value is None else _compact(value)


def _yes(value: object, *, unsure: str = "–") -> str:
    return {True: "yes", False: "no"}.get(value, unsure) if isinstance(value, bool) else unsure


def _mark(value: object, *, unsure: str = "") -> str:
    return {True: "ok", False: "bad"}.get(value, unsure) if isinstance(value, bool) else unsure
