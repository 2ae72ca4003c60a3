"""An average of percentiles: the mean of three brokers' 99th percentiles is the 99th percentile of nothing."""

from collections.abc import Iterator

from promql_parser import AggregateExpr, Expr, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import aggregated, called, children, everything, keeps, keeps_instances, name_of, operator, pinned
from dashboards.reading import Panel

_AVERAGES = ("sum", "avg")


def average_of_quantiles(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for aggregation in everything(expression):
        if not isinstance(aggregation, AggregateExpr) or operator(aggregation) not in _AVERAGES:
            continue
        for what in dict.fromkeys(_mixed(aggregation.expr, aggregation, known)):
            yield Finding(
                "average-of-quantiles",
                f"{operator(aggregation)} of percentiles ({what}): they cannot be added up or averaged",
                "the worst of them: max(…); or one percentile of all, from a histogram's buckets",
            )


def _mixed(expression: Expr, aggregation: AggregateExpr, known: Known) -> Iterator[str]:
    """Percentiles of which several may end in one series of the aggregation."""
    if isinstance(expression, VectorSelector):
        name = name_of(expression)
        fact = known.fact(name)
        told_apart = keeps_instances(aggregation) and all(
            label in pinned(expression) or keeps(aggregation, label) for label in fact.labels
        )
        if fact.kind == "quantile" and not told_apart:
            yield name
    elif called(expression) == "histogram_quantile":
        yield "histogram_quantile"
    elif aggregated(expression) in ("count", "group", "max", "min"):
        return  # the worst of each, of which there may be a sum; an average of those is at least no percentile's
    else:
        for child in children(expression):
            yield from _mixed(child, aggregation, known)
