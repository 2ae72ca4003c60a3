"""The rate of a gauge: each time it falls, rate() takes it for a restart and adds what is left."""

import re
from collections.abc import Iterator

from promql_parser import Expr, MatrixSelector, SubqueryExpr, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import RATES, bare, calls, name_of
from dashboards.reading import Panel

# Gauges by declaration that only rise: the rate of a log's end is the records written, and everybody's way to know it.
_RISING = re.compile(r"offset|watermark|epoch")


def rate_of_gauge(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for call in calls(expression, *RATES):
        selector = over(call.args[0])
        name = name_of(selector) if selector else ""
        if known.fact(name).kind in ("gauge", "quantile") and not _RISING.search(name):
            yield Finding(
                "rate-of-gauge",
                f"{call.func.name}() of {name}, which is a gauge: every fall counts as a restart",
                "show it as it is, or how it changes: delta() or deriv()",
            )


def over(argument: Expr) -> VectorSelector | None:
    """The series that a function of a range is applied to, if it is to series and not to something worked out."""
    inner = bare(argument)
    if isinstance(inner, MatrixSelector):
        return inner.vector_selector
    inner = bare(inner.expr) if isinstance(inner, SubqueryExpr) else inner
    return inner if isinstance(inner, VectorSelector) else None
