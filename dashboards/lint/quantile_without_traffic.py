"""A percentile shown without asking whether anything happened: Kafka's stay where they were when traffic stopped."""

from collections.abc import Iterator

from promql_parser import BinaryExpr, Expr, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import RATES, aggregated, called, calls, children, name_of, operator
from dashboards.reading import Panel

_COUNTS = ("count", "group")
_GONE_QUIET = ("absent", "absent_over_time", "changes", "count_over_time", "timestamp", "present_over_time")


def quantile_without_traffic(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for name in dict.fromkeys(map(name_of, ungated(expression, known))):
        count = f"{name}_count" if not name.endswith("percentile") else name.rpartition("_")[0] + "_count"
        yield Finding(
            "quantile-without-traffic",
            f"{name} is a percentile that Kafka leaves as it was when the last request went: an idle broker looks busy",
            f"only while there is traffic: … and ignoring (quantile) rate({count}[5m]) > 0",
        )


def ungated(expression: Expr, known: Known) -> Iterator[VectorSelector]:
    """Percentiles that no `and` with a rate, nor `unless` with one, stands over."""
    if isinstance(expression, VectorSelector):
        if known.fact(name_of(expression)).kind == "quantile":
            yield expression
    elif isinstance(expression, BinaryExpr) and operator(expression) in ("and", "unless"):
        if not any(calls(expression.rhs, *RATES)):
            yield from ungated(expression.lhs, known)
    elif isinstance(expression, BinaryExpr) and operator(expression) == "*" and any(calls(expression, *RATES)):
        return  # times the rate, or times whether there is one
    elif aggregated(expression) in _COUNTS or called(expression) in _GONE_QUIET:
        return
    else:
        for child in children(expression):
            yield from ungated(child, known)
