"""What a trial did to a cluster, as annotations: a region for each fault, points for healthy again and for the verdict.

Told event by event, so that a run under way and one that is long over are drawn by the same rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dashboards.push.port import Annotation, Written
from kernel.errors import UsageError

TAG = "kafka-trial"  # what the dashboards ask for
CLUSTER = "trial"
LONGEST_TAG = 100  # letters; the width of Grafana's own column
HEARD = frozenset({"fault", "bite", "no-bite", "heal", "phase", "health"})
MS = 1_000_000  # nanoseconds


@dataclass(frozen=True, slots=True)
class Run:
    """Who is told of, and how its monotonic clock stands to that on the wall."""

    run_id: str
    scenario: str
    cluster: str
    anchor_ns: int
    anchor_ms: int

    def ms(self, t_ns: int) -> int:
        return self.anchor_ms + (t_ns - self.anchor_ns) // MS

    def tags(self, step: str, *more: str) -> tuple[str, ...]:
        own = (f"run:{self.run_id}", f"step:{step}", f"scenario:{self.scenario}", f"cluster:{self.cluster}", *more)
        return (TAG, *(_tag(tag) for tag in own))


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest word on one step of a run."""

    step: str
    annotation: Annotation


def run_of(manifest: Mapping[str, Any], where: str, cluster: str = CLUSTER) -> Run:
    anchor = manifest.get("anchor")
    try:
        wall = datetime.fromisoformat(anchor["wall"])  # type: ignore[index]
        ns = int(anchor["monotonic_ns"])  # type: ignore[index]
    except (TypeError, KeyError, ValueError):
        raise UsageError(f"{where} has no anchor that tells the time of day of its events: it cannot be placed in Grafana.")
    return Run(str(manifest.get("run_id")), str(manifest.get("scenario")), cluster, ns, int(wall.timestamp() * 1000))


@dataclass
class Story:
    run: Run
    open: dict[str, dict[str, Any]] = field(default_factory=dict)  # faults by id
    bites: dict[str, str] = field(default_factory=dict)
    last_ns: int = 0
    _healed: bool = False
    _recovering: bool = False
    _holding: dict[str, bool] = field(default_factory=dict)  # by clause of health
    _since_ns: int = 0
    _healthy: int = 0

    def told(self, event: Mapping[str, Any]) -> list[Mark]:
        """What there is to write now, if anything."""
        kind, t_ns, step = event["event"], int(event["t_ns"]), str(event.get("id", ""))
        self.last_ns = max(self.last_ns, t_ns)
        if kind == "fault":
            self.open[step] = dict(event)
            self._healed = False
            return [self._mark(step, None, "")]
        if kind == "bite":
            self.bites[step] = f"It bit: {event.get('sentence', '')}"
        elif kind == "no-bite":
            self.bites[step] = f"It did not bite: {event.get('sentence', '')}"
        elif kind == "heal" and step in self.open:
            self._healed = True
            return [self._closed(step, t_ns, "Healed after")]
        elif kind == "health" and self._recovering:
            self._holding[str(event.get("clause"))] = event.get("holds") is True
            self._since_ns = t_ns
        elif kind == "phase":
            return self._phase(str(event.get("phase")))
        return []

    def ended(self) -> list[Mark]:
        """A fault that nobody healed lasts as long as the run was told of."""
        return [self._closed(step, self.last_ns, "Not healed when the run ended, after") for step in list(self.open)]

    def _phase(self, name: str) -> list[Mark]:
        """The next phase begins when the cluster has been healthy for a while: since the last clause came to hold."""
        healthy = self._recovering and self._holding and all(self._holding.values())
        self._recovering = name.startswith("healthy") and self._healed
        self._holding = {}
        if not healthy:
            return []
        self._healthy += 1
        step, at = f"healthy-{self._healthy}", self.run.ms(self._since_ns)
        text = f"{self.run.scenario}: every broker, partition and group is healthy again (run {self.run.run_id})"
        return [Mark(step, Annotation(at, None, self.run.tags(step, "healthy"), text))]

    def _closed(self, step: str, t_ns: int, words: str) -> Mark:
        seconds = (t_ns - int(self.open[step]["t_ns"])) / 1e9
        bite = self.bites.get(step, "")
        mark = self._mark(step, t_ns, "\n".join(filter(None, (bite, f"{words} {seconds:.1f} s"))))
        del self.open[step]
        return mark

    def _mark(self, step: str, end_ns: int | None, more: str) -> Mark:
        event = self.open[step]
        text = f"{self.run.scenario}: {event.get('sentence') or event.get('fault')} (run {self.run.run_id}, {step})"
        start, end = self.run.ms(int(event["t_ns"])), None if end_ns is None else self.run.ms(end_ns)
        tags = self.run.tags(step, f"fault:{event.get('fault', 'unknown')}")
        return Mark(step, Annotation(start, end, tags, f"{text}\n{more}" if more else text))


def verdict_mark(run: Run, t_ns: int, verdict: Mapping[str, Any]) -> Mark:
    word = str(verdict.get("verdict"))
    counts = verdict.get("counts") or {}
    found = ", ".join(f"{number} {anomaly}" for anomaly, number in counts.items() if number)
    text = f"{run.scenario}: {word}, {verdict.get('acknowledged', 0)} acknowledged{', ' if found else ''}{found}"
    tags = run.tags("verdict", f"verdict:{word}")
    return Mark("verdict", Annotation(run.ms(t_ns), None, tags, f"{text} (run {run.run_id})"))


def marks_of(run: Run, events: Iterable[Mapping[str, Any]], verdict: Mapping[str, Any] | None) -> list[Mark]:
    """All of a run that is over, the newest word on each step."""
    story, newest = Story(run), {}
    for event in events:
        newest.update({mark.step: mark for mark in story.told(event)})
    newest.update({mark.step: mark for mark in story.ended()})
    marks = list(newest.values())
    return marks if verdict is None else [*marks, verdict_mark(run, story.last_ns, verdict)]


def outstanding(marks: Sequence[Mark], there: Sequence[Written]) -> list[tuple[Mark, int | None]]:
    """What is not in Grafana yet, or not to its end, with the number of what is. A text that somebody added to stays."""
    return [
        (mark, None if found is None else found.number)
        for mark in marks
        if not _same(mark.annotation, found := _found(mark, there))
    ]


def _found(mark: Mark, there: Sequence[Written]) -> Written | None:
    own = set(mark.annotation.tags[:3])  # ours, the run's, the step's
    return next((one for one in there if own <= set(one.annotation.tags)), None)


def _same(wanted: Annotation, found: Written | None) -> bool:
    if found is None:
        return False
    is_there = found.annotation
    ends = (one.end_ms or one.start_ms for one in (wanted, is_there))
    return wanted.start_ms == is_there.start_ms and len(set(ends)) == 1 and set(wanted.tags) <= set(is_there.tags)


def _tag(words: str) -> str:
    return " ".join(words.split())[:LONGEST_TAG]
