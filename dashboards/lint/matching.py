"""Whether a scrape page has what a selector asks for, as far as a page can tell. Pure.

A page has no labels that Prometheus adds: matchers on those are let be.
"""

import re

import promql_parser as promql
from promql_parser import VectorSelector

from dashboards.lint.known import OF_PROMETHEUS, Known, Labels
from dashboards.lint.tree import matchers, name_of

_LABELS_OF_PROMETHEUS = ("job", "instance")  # that no page has


def on_page(selector: VectorSelector, known: Known) -> bool:
    """Whether a page has such a series, as far as a page can tell: Prometheus adds series and labels of its own."""
    if name_of(selector) in OF_PROMETHEUS:
        return True
    asked = [one for one in matchers(selector) if one.name == "__name__" or one.name in known.page_labels]
    asked = [one for one in asked if one.name not in _LABELS_OF_PROMETHEUS]
    names = [selector.name] if selector.name else [name for name in known.series if all(_fits(one, name) for one in asked)]
    wanted = [one for one in asked if one.name != "__name__"]
    return any(_matches(wanted, labels) for name in names for labels in known.series.get(name, ()))


def _matches(wanted: list[promql.Matcher], labels: Labels) -> bool:
    return all(_holds(one, labels.get(one.name, "")) for one in wanted)


def _fits(matcher: promql.Matcher, name: str) -> bool:
    return matcher.name != "__name__" or _holds(matcher, name)


def _holds(matcher: promql.Matcher, value: str) -> bool:
    if matcher.op == promql.MatchOp.Equal:
        return value == matcher.value
    if matcher.op == promql.MatchOp.NotEqual:
        return value != matcher.value
    try:
        found = re.fullmatch(matcher.value, value, re.DOTALL) is not None
    except re.error:  # Go's patterns differ in corners
        return True
    return found if matcher.op == promql.MatchOp.Re else not found
