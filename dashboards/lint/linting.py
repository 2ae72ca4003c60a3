"""One dashboard, judged: every query of every panel is filled, parsed and put before each check."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from dashboards.lint.checks import CHECKS
from dashboards.lint.findings import Finding, Report
from dashboards.lint.known import Known
from dashboards.lint.no_data import no_data, no_data_on_page, unknown_to_catalogue
from dashboards.lint.tree import parsed
from dashboards.prometheus import BadExpression
from dashboards.reading import Dashboard, Panel, Target
from dashboards.variables import filled, unfilled, values_of
from kernel.errors import UsageError

Ask = Callable[[str], bool]  # whether an expression has any series on the Prometheus at hand; may raise BadExpression
WINDOW = "5m"  # for $__rate_interval: of use with any scrape interval up to two minutes


def lint(
    dashboard: Dashboard,
    known: Known,
    *,
    ask: Ask | None = None,
    strict: bool = False,
    values: Mapping[str, str] | None = None,
) -> Report:
    """With `ask` the queries themselves are asked; else `known` has the series of a page, or only the catalogue."""
    asked = cache(ask) if ask else None
    chosen = values_of(dashboard, values)
    found: list[Finding] = []
    quiet: list[Finding] = []
    skipped: list[Finding] = []
    queries = 0
    for panel in dashboard.panels:
        skipped += (_at(dashboard, panel, "", one) for one in _not_judged(panel))
        for target in panel.queries:
            queries += 1
            told = [_at(dashboard, panel, target.ref, one) for one in _of_query(panel, target, known, asked, chosen)]
            for one in told:
                into = skipped if one.check == "skipped" else quiet if _expected(panel, one, strict) else found
                into.append(one)
    return Report(
        dashboard.title, dashboard.source, len(dashboard.panels), queries, tuple(found), tuple(quiet), tuple(skipped)
    )


def _of_query(panel: Panel, target: Target, known: Known, ask: Ask | None, values: Mapping[str, str]) -> Iterator[Finding]:
    expression = filled(target.expression, values, rate_interval=WINDOW)
    if open_ones := unfilled(expression):
        yield Finding("skipped", f"it needs a value of ${open_ones[0]}, which this file does not give")
        return
    try:
        tree = parsed(expression)
    except ValueError as error:
        yield _unread(expression, str(error), ask)
        return
    for check in CHECKS:
        yield from check(panel, tree, known)
    try:
        if ask:
            yield from no_data(expression, tree, known, ask)
        elif known.names is not None:
            yield from no_data_on_page(tree, known)
        else:
            yield from unknown_to_catalogue(tree, known)
    except BadExpression as refused:
        yield Finding("refused", f"Prometheus refuses the query: {refused.facts.get('reason', refused)}", _short(expression))
    except UsageError as silent:  # it answered when asked for its names, so it is the query that is too much for it
        yield Finding("refused", silent.message.rstrip("."), _short(expression))


def _unread(expression: str, reason: str, ask: Ask | None) -> Finding:
    """Prometheus has the last word, where there is one: it may be newer than the parser here."""
    try:
        if ask:
            ask(expression)
            return Finding("skipped", f"Prometheus reads the query, and the parser here does not: {reason}")
    except UsageError as refused:
        reason = refused.facts.get("reason", reason)
    return Finding("does-not-parse", f"Prometheus cannot read the query: {reason}", _short(expression))


def _not_judged(panel: Panel) -> Iterator[Finding]:
    if panel.skipped:
        yield Finding("skipped", panel.skipped)
        return
    for target in panel.targets:
        if target.skipped and not target.hidden:
            yield Finding("skipped", f"query {target.ref}: {target.skipped}")


def _expected(panel: Panel, finding: Finding, strict: bool) -> bool:
    """The panel tells its reader that there may be nothing, and what it asks for is not a wrong name."""
    return finding.check == "no-data" and bool(panel.no_value) and not strict


def _at(dashboard: Dashboard, panel: Panel, ref: str, finding: Finding) -> Finding:
    return replace(finding, board=dashboard.title, panel=panel.title or f"panel {panel.id}", ref=ref)


def _short(expression: str) -> str:
    words = " ".join(expression.split())
    return words if len(words) <= 120 else words[:119] + "…"
