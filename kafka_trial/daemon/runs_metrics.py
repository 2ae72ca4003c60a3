"""The runs of a folder as Prometheus reads them. Pure."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from exporters.exposition import CONTENT_TYPES, Rendered, end, join, wanted_format
from exporters.translate import Family
from kafka_trial.daemon.runs_told import Figure, Labels, Told
from kernel.metric_tables import METRICS
from kernel.metrics import Scope
from kernel.verdict import Verdict

_OWN = {metric.name.removeprefix("kafka_trial_"): metric for metric in METRICS if metric.scope is Scope.TRIAL}


def figures(runs: Collection[Told], most: int) -> list[Figure]:
    """`most`: of so many kinds of runs, those that ran last. One that ran in two versions is two."""
    kinds: dict[Labels, list[Told]] = {}
    for run in sorted(runs, key=lambda run: run.began, reverse=True):
        kinds.setdefault(run.of, []).append(run)
    newest_first = list(kinds.items())
    dropped = sum(len(same) for _, same in newest_first[most:])
    kept = (_of_kind(of, same) for of, same in sorted(newest_first[:most]))
    return [*chain.from_iterable(kept), ("dropped_runs", (), float(dropped))]


def _of_kind(of: Labels, runs: list[Told]) -> Iterator[Figure]:
    """Newest first."""
    last = runs[0]
    for verdict in Verdict:
        labels = (*of, ("verdict", str(verdict)))
        yield "runs", labels, float(sum(run.verdict is verdict for run in runs))
        yield "last_verdict", labels, float(last.verdict is verdict)
    yield "last_run_timestamp_seconds", of, last.began
    for name, more, value in last.figures:
        yield name, (*of, *more), value


def families(found: Iterable[Figure]) -> list[Family]:
    all_of_them = {name: Family(metric) for name, metric in _OWN.items()}
    for name, labels, value in found:
        all_of_them[name].samples.append(("", labels, value))
    return [family for family in all_of_them.values() if family.samples]


def page(rendered: Rendered, accept: str) -> tuple[str, bytes]:
    form = wanted_format(accept)
    return CONTENT_TYPES[form], join([rendered], form) + end(form)
