"""Panels of the usual kinds in one line each: unit, colours and description come from the catalogue.

A panel about several metrics is described by what the catalogue says of each, traps included.
"""

from typing import Any

from dashboards.board import Form, Panel, Query, Step, Unit, Word
from dashboards.expressions import described, each, each_rate, increase, known, labels, mean, percentile, quantile, total
from dashboards.expressions import total_rate as _total_rate
from kernel.metrics import Kind, as_version

UNITS: dict[str, Unit] = {
    "bytes": "bytes", "seconds": "s", "ms": "ms", "us": "µs", "ratio": "percentunit", "percent": "percent",
}  # fmt: skip
OLDEST = "3.9"  # the first Kafka that is catered for
RED, ORANGE = "red", "orange"
ANY = (Step(1, RED),)  # one is too many
SOME = (Step(1, ORANGE),)
UP = (Word(0, "down", RED), Word(1, "up", "green"))


def level(title: str, *names: str, where: str = "", by: str = "", legend: str = "", **more: Any) -> Panel:
    """Each node's values over time; one line for each node, label and metric."""
    queries = tuple(Query(each(name, where, by), legend or _legend(name, by, names)) for name in names)
    return _panel(title, names, queries, _unit(names[0]), **more)


def rates(title: str, *names: str, where: str = "", by: str = "", legend: str = "", **more: Any) -> Panel:
    """Each node's rates over time."""
    queries = tuple(Query(each_rate(name, where, by), legend or _legend(name, by, names)) for name in names)
    return _panel(title, names, queries, _rate_unit(names[0]), **more)


def cluster_rates(title: str, *names: str, where: str = "", by: str = "", legend: str = "", **more: Any) -> Panel:
    """The cluster's rates over time."""
    queries = tuple(Query(_total_rate(name, where, by), legend or _legend(name, by, names, node=False)) for name in names)
    return _panel(title, names, queries, _rate_unit(names[0]), **more)


def cluster_level(title: str, *names: str, where: str = "", by: str = "", legend: str = "", **more: Any) -> Panel:
    queries = tuple(Query(total(name, where, by), legend or _legend(name, by, names, node=False)) for name in names)
    return _panel(title, names, queries, _unit(names[0]), **more)


def number(title: str, name: str, where: str = "", **more: Any) -> Panel:
    """The cluster's value now."""
    return _number(title, name, total(name, where), _unit(name), more)


def events(title: str, name: str, where: str = "", window: str = "$__range", **more: Any) -> Panel:
    """How often it happened in the time that is looked at."""
    return _number(title, name, increase(name, where, window=window), "short", more)


def quantiles(title: str, *names: str, of: str = "0.99", where: str = "", by: str = "", **more: Any) -> Panel:
    queries = tuple(Query(quantile(name, of, where, by), _legend(name, by, names)) for name in names)
    return _panel(title, names, queries, _unit(names[0]), **more)


def means(title: str, *names: str, where: str = "", by: str = "", legend: str = "", **more: Any) -> Panel:
    queries = tuple(Query(mean(name, where, by), legend or _legend(name, by, names)) for name in names)
    return _panel(title, names, queries, _unit(names[0]), **more)


def percentiles(title: str, name: str, where: str = "", by: str = "", **more: Any) -> Panel:
    """Half of them, and all but one in a hundred, of a real histogram."""
    sides = _sides(by, node=False)
    queries = tuple(Query(percentile(name, of, where, by), f"{sides} p{float(of) * 100:g}") for of in ("0.5", "0.99"))
    return _panel(title, (name,), queries, _unit(name), **more)


def states(title: str, name: str, words: tuple[Word, ...], where: str = "", by: str = "", **more: Any) -> Panel:
    """How it stood at each moment, in colours."""
    query = Query(each(name, where, by), _sides(by, node="node" in labels(name)))
    return _panel(title, (name,), (query,), "none", form=Form.STATES, words=words, **more)


def table(title: str, *queries: Query, of: tuple[str, ...], unit: Unit = "short", **more: Any) -> Panel:
    more.setdefault("width", 24)
    return _panel(title, of, queries, unit, form=Form.TABLE, **more)


def lines(title: str, *queries: Query, of: tuple[str, ...], unit: Unit = "short", **more: Any) -> Panel:
    """Any queries; `of`: the metrics they are about, for the description."""
    return _panel(title, of, queries, unit, **more)


def _number(title: str, name: str, expression: str, unit: Unit, more: dict[str, Any]) -> Panel:
    more.setdefault("width", 4)
    more.setdefault("height", 4)
    return _panel(title, (name,), (Query(expression, "{{cluster}}"),), unit, form=Form.NUMBER, **more)


def _panel(title: str, names: tuple[str, ...], queries: tuple[Query, ...], usual: Unit, /, **more: Any) -> Panel:
    """`why`: what is to be said before the catalogue's words. What an older Kafka does not tell is missed, and said so."""
    said = more.pop("why", "")
    newest = max((known(name).since for name in names), key=as_version, default=OLDEST)
    if as_version(newest) > as_version(OLDEST):
        more.setdefault("empty", f"Kafka tells this from {newest} on.")
    description = "\n\n".join(part for part in (said, described(*names)) if part)
    return Panel(**{"title": title, "queries": queries, "unit": usual, "description": description, **more})


def _unit(name: str) -> Unit:
    return UNITS.get(known(name).unit, "short")


def _rate_unit(name: str) -> Unit:
    row = known(name)
    if name.endswith("_count") or row.kind in (Kind.SUMMARY, Kind.HISTOGRAM):
        return "cps"
    return {"bytes": "Bps", "seconds": "percentunit"}.get(row.unit, "cps")  # type: ignore[return-value]


def _legend(name: str, by: str, among: tuple[str, ...], *, node: bool = True) -> str:
    sides = _sides(by, node=node and "node" in labels(name))
    return f"{sides} {_short(name)}" if len(among) > 1 else sides


def _sides(by: str, *, node: bool) -> str:
    named = ["cluster", *(["node"] if node else []), *(label.strip() for label in by.split(",") if label.strip())]
    return " ".join(f"{{{{{label}}}}}" for label in dict.fromkeys(named))


def _short(name: str) -> str:
    """Of a metric's name what tells it from its neighbours."""
    word = name.removesuffix("_total").rpartition("_")[2]
    return word if word not in ("seconds", "bytes", "records", "count") else "_".join(name.split("_")[-2:])
