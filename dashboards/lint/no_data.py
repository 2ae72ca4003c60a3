"""A query that can have no data: which selector is to blame, and by which matcher or name. Pure, given what to ask.

What is empty only because a comparison left nothing over (`x > 0` on a good day) has data: its selectors are judged.
"""

import re
from collections.abc import Callable, Iterator

import promql_parser as promql
from promql_parser import BinaryExpr, Expr, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import OF_PROMETHEUS, Known
from dashboards.lint.matching import on_page
from dashboards.lint.names import gone, instead, renamed
from dashboards.lint.tree import (
    STRING,
    called,
    children,
    everything,
    filters,
    matchers,
    name_of,
    operator,
    selectors,
    written,
)
from dashboards.prometheus import BadExpression

Has = Callable[[str], bool]  # whether an expression has any series
_WITHOUT_SERIES = ("absent", "absent_over_time", "vector", "time")
_TIMES = re.compile(rf"{STRING.pattern}|\s+(?:offset\s+-?\w+|@\s*(?:start\(\)|end\(\)|-?[\d.e+]+))", re.DOTALL)


def missing(expression: Expr, has: Callable[[VectorSelector], bool]) -> list[VectorSelector]:
    """The selectors without series that leave the expression without data."""
    if isinstance(expression, VectorSelector):
        return [] if has(expression) else [expression]
    if called(expression) in _WITHOUT_SERIES:
        return []
    if isinstance(expression, BinaryExpr) and operator(expression) == "or":
        left, right = missing(expression.lhs, has), missing(expression.rhs, has)
        return left + right if left and right else []
    if isinstance(expression, BinaryExpr) and operator(expression) == "unless":
        return missing(expression.lhs, has)
    return [one for child in children(expression) for one in missing(child, has)]


def masked(expression: Expr) -> Iterator[Expr]:
    """What stands before `or vector(0)`: without data it looks like a calm zero."""
    for one in everything(expression):
        if isinstance(one, BinaryExpr) and operator(one) == "or" and not any(selectors(one.rhs)):
            yield one.lhs


def unfiltered(expression: Expr) -> str:
    """Without what may rightly leave nothing over: comparisons, `unless`, absent(), and times before there was data."""

    def opened(one: Expr) -> Expr | None:
        if isinstance(one, BinaryExpr) and (filters(one) or operator(one) == "unless"):
            return one.rhs if isinstance(one.lhs, promql.NumberLiteral) else one.lhs
        return promql.parse("vector(1)") if called(one) in ("absent", "absent_over_time") else None

    return _without_times(promql.transform(expression, post_visit=opened).prettify())


def _without_times(words: str) -> str:
    """Strings are left as they are."""
    return _TIMES.sub(lambda found: found.group() if found.group()[0] in "\"'`#" else "", words)


def no_data(words: str, expression: Expr, known: Known, has: Has) -> Iterator[Finding]:
    """On a Prometheus: the query is asked, and if it is empty, its selectors are."""
    yield from _wrong_names(expression, lambda selector: has(text_of(selector)), known, has)
    if has(words):
        return
    opened = _with_data(unfiltered(expression), has)
    if opened:
        return
    empty = missing(expression, lambda selector: has(text_of(selector)))
    for selector in empty:
        yield blamed(selector, known, has)
    if not empty and opened is False:
        yield Finding(
            "no-data",
            "the query returns nothing, though each of its selectors has series",
            "the labels of its two sides differ, or its window holds less than two samples",
        )


def _with_data(made: str, has: Has) -> bool | None:
    """None if Prometheus refuses it: it was made here, and is nobody's mistake but ours."""
    try:
        return has(made)
    except BadExpression:
        return None


def no_data_on_page(expression: Expr, known: Known) -> Iterator[Finding]:
    def has(words: str) -> bool:
        selector = promql.parse(words)
        return isinstance(selector, VectorSelector) and on_page(selector, known)

    yield from _wrong_names(expression, lambda one: on_page(one, known), known, has)
    for selector in missing(expression, lambda one: on_page(one, known)):
        yield blamed(selector, known, has)


def _wrong_names(expression: Expr, there: Callable[[VectorSelector], bool], known: Known, has: Has) -> Iterator[Finding]:
    """Names that nobody has, hidden by a constant. What is only not there yet may well be hidden so."""
    for hidden in masked(expression):
        told = (blamed(selector, known, has) for selector in missing(hidden, there))
        yield from (one for one in told if one.check == "unknown-metric")


def unknown_to_catalogue(expression: Expr, known: Known) -> Iterator[Finding]:
    """Without series to ask for, only what is certain: names that Kafka or its exporters gave up."""
    for part in (expression, *masked(expression)):
        for selector in missing(part, lambda one: not (gone(name_of(one), known) or renamed(name_of(one)))):
            yield _unknown(name_of(selector), known)


def blamed(selector: VectorSelector, known: Known, has: Has) -> Finding:
    name = name_of(selector)
    if name in OF_PROMETHEUS and not known.exists(name):
        return Finding("no-data", f"there is no series of {name}", "Prometheus makes it when there is something to tell")
    if name and not known.exists(name) and (known.fact(name).metric != name or gone(name, known)):
        return _unknown(name, known)
    if name and not known.exists(name):  # it is in the catalogue, and not here
        appears = known.fact(name).appears
        comes = f"it comes {appears}" if appears else "is what exports it scraped, and is it of this version?"
        return Finding("no-data", f"there is no series of {name}", comes)
    if not name:  # a pattern of names; one matcher of it alone need not be a question that may be asked
        return Finding("no-data", f"no series matches {text_of(selector)}", "ask for it by a name")
    if not has(name):
        return Finding("no-data", f"there is no series of {name} now, though there was", "is what exports it still scraped?")
    for one in matchers(selector):
        if one.name != "__name__" and not has(f"{name}{{{written(one)}}}"):
            hint = f"see what there is: count by ({one.name}) ({name})"
            return Finding("no-data", f"no series of {name} has {written(one)}", hint)
    return Finding("no-data", f"no series matches {text_of(selector)}", "each matcher has some, and no series has all")


def _unknown(name: str, known: Known) -> Finding:
    if words := gone(name, known):
        return Finding("unknown-metric", f"{name} is no longer there", words)
    near = instead(name, known)
    hint = f"use {near}" if near else "no name is near it: is what exports it scraped?"
    factor = known.fact(name).factor / known.fact(near).factor if near else 1.0
    if near and known.fact(name).metric and abs(factor - 1) > 1e-12:
        hint += f", and mind that its value is {factor:g} times that"
    return Finding("unknown-metric", f"there is no metric {name}", hint)


def text_of(selector: VectorSelector) -> str:
    """Without its offset: what was there yesterday is not asked."""
    inner = ",".join(written(one) for one in matchers(selector))
    return f"{selector.name or ''}{{{inner}}}" if inner else str(selector.name)
