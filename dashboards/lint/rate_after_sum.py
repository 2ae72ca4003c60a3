"""A rate over a sum: when one broker restarts the sum falls, and rate() takes all the others' counts for new ones."""

from collections.abc import Iterator

from promql_parser import AggregateExpr, Expr, SubqueryExpr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.raw_counter import raw
from dashboards.lint.tree import RATES, bare, calls, everything, name_of
from dashboards.reading import Panel


def rate_after_sum(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for call in calls(expression, *RATES):
        inner = bare(call.args[0])
        if not isinstance(inner, SubqueryExpr):
            continue
        summed = [one for one in everything(inner.expr) if isinstance(one, AggregateExpr)]
        names = dict.fromkeys(name_of(selector) for one in summed for selector in raw(one, known))
        for name in names:
            yield Finding(
                "rate-after-sum",
                f"{call.func.name}() over a sum of {name}: one restart counts all the others again",
                f"the other way round: sum({call.func.name}(…))",
            )
