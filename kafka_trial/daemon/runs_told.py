"""What one run tells: its verdict, how long each phase of its recovery took, what was found. Pure.

A folder may hold anything. What is no number is passed over; without a scenario and a verdict there is nothing to tell.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chaos.report.words import STAGES, clean, mapping, worst_gap
from kernel.verdict import ANOMALIES, Verdict

Labels = tuple[tuple[str, str], ...]
Figure = tuple[str, Labels, float]
Twins = Mapping[str, Mapping[str, str]]  # scenario → the options under which it must fail
GAPS = {"send": "write_gap", "poll": "read_gap"}
LONGEST = 100  # letters of a label


class Foreign(ValueError):
    """It is no run of ours, or not a whole one."""


@dataclass(frozen=True, slots=True)
class Told:
    of: Labels  # scenario, version of Kafka, whether it had to fail
    verdict: Verdict
    began: float
    figures: tuple[Figure, ...]  # if no run of its kind is newer


def told(manifest: Mapping[str, Any], verdict: Mapping[str, Any], twins: Twins, written: float) -> Told:
    """`written`: when its verdict was, for a run that does not say when it was."""
    scenario = manifest.get("scenario")
    if not isinstance(scenario, str) or not scenario.strip():
        raise Foreign(f"manifest.json: scenario is {scenario!r:.80}, not a name")
    if verdict.get("verdict") not in list(Verdict):
        raise Foreign(f"verdict.json: verdict is {verdict.get('verdict')!r:.80}, not one of {', '.join(Verdict)}")
    began, ended = (_moment(manifest.get(key)) for key in ("started", "finished"))
    kafka = manifest.get("kafka")
    of = (
        ("scenario", _label(scenario)),
        ("kafka", _label(kafka) if isinstance(kafka, str) and kafka.strip() else "unknown"),
        ("twin", "yes" if _is_twin(twins.get(scenario), mapping(manifest.get("options"))) else "no"),
    )
    duration = [ended - began] if began is not None and ended is not None and ended >= began else []
    figures: list[Figure] = [("last_duration_seconds", (), seconds) for seconds in duration]
    figures += [*_recovery(verdict.get("recovery")), *_counts(verdict)]
    when = began if began is not None else ended if ended is not None else written
    return Told(of, Verdict(verdict["verdict"]), when, tuple(figures))


def _recovery(rows: object) -> Iterator[Figure]:
    known = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for stage in STAGES:
        if times := [seconds for row in known if (seconds := _number(row.get(stage))) is not None]:
            yield "last_recovery_seconds", (("phase", stage.removesuffix("_s")),), max(times)
    for kind, phase in GAPS.items():
        worst = worst_gap(row for row in known if row.get("kind") == kind and _number(row.get("gap_s")) is not None)
        if worst:
            yield "last_recovery_seconds", (("phase", phase),), float(worst["gap_s"])
        if worst and (bound := _number(worst.get("bound_s"))) is not None:
            yield "last_recovery_bound_seconds", (("phase", phase),), bound
    yield "last_late_recoveries", (), float(sum(row.get("within") is False for row in known))
    yield "last_open_gaps", (), float(sum(row.get("censored") is True for row in known))


def _counts(verdict: Mapping[str, Any]) -> Iterator[Figure]:
    for key in ("acknowledged", "read"):
        if (count := _number(verdict.get(key))) is not None:
            yield f"last_{key}_records", (), count
    counts = mapping(verdict.get("counts"))
    for anomaly in ANOMALIES:
        yield "last_findings", (("anomaly", anomaly),), _number(counts.get(anomaly)) or 0.0
    if others := sum(_number(count) or 0.0 for anomaly, count in counts.items() if anomaly not in ANOMALIES):
        yield "last_findings", (("anomaly", "other"),), others


def _is_twin(twin: Mapping[str, str] | None, options: Mapping[str, Any]) -> bool:
    return bool(twin) and all(str(options.get(name)) == value for name, value in (twin or {}).items())


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) and value >= 0 else None
    except OverflowError:  # an integer that is too long
        return None


def _moment(text: object) -> float | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None


def _label(text: str) -> str:
    return clean(text.strip())[:LONGEST]
