"""A sum over what every controller repeats: with three controllers, one offline partition is shown as three."""

from collections.abc import Iterator

from promql_parser import AggregateExpr, BinaryExpr, Expr, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import (
    INSTANCE,
    called,
    children,
    everything,
    keeps_instances,
    name_of,
    operator,
    pinned,
    selectors,
)
from dashboards.reading import Panel

_WRONG = {
    "sum": "the sum of {name} is too high by the number of controllers, for each repeats the same value",
    "avg": "the average of {name} is wrong as soon as one controller is behind, for each repeats the same value",
    "count": "the count of {name} counts the controllers that repeat it, not what they tell",
}
_THAT_OF_THE_ACTIVE = "activecontrollercount"


def sum_of_replicated(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for aggregation in everything(expression):
        if isinstance(aggregation, AggregateExpr) and operator(aggregation) in _WRONG and not keeps_instances(aggregation):
            for name in dict.fromkeys(map(name_of, repeated(aggregation.expr, known))):
                wrong = _WRONG[operator(aggregation)].format(name=name)
                yield Finding("sum-of-replicated", wrong, f"take the greatest: {_right(name, known)}")


def repeated(expression: Expr, known: Known) -> Iterator[VectorSelector]:
    """Selectors whose series still stand once per controller where the expression ends."""
    if isinstance(expression, VectorSelector):
        if known.fact(name_of(expression)).replicated and not INSTANCE & pinned(expression):
            yield expression
    elif isinstance(expression, AggregateExpr) and not keeps_instances(expression):
        return  # it is one series from here on, rightly or wrongly made; if wrongly, that is told of this aggregation
    elif called(expression) in ("absent", "absent_over_time", "scalar") or _of_the_active_alone(expression):
        return
    elif isinstance(expression, BinaryExpr) and operator(expression) in ("and", "unless"):
        yield from repeated(expression.lhs, known)
    else:
        for child in children(expression):
            yield from repeated(child, known)


def _of_the_active_alone(expression: Expr) -> bool:
    return isinstance(expression, BinaryExpr) and any(_THAT_OF_THE_ACTIVE in name_of(one) for one in selectors(expression))


def _right(name: str, known: Known) -> str:
    return f"max(increase({name}[5m]))" if known.fact(name).kind == "counter" else f"max({name})"
