"""A counter shown as it stands: it only rises, falls to nothing at a restart, and says when the broker started at most."""

from collections.abc import Iterator

from promql_parser import BinaryExpr, Expr, MatrixSelector, VectorSelector

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import COMPARISONS, aggregated, called, children, filters, name_of, operator
from dashboards.reading import Panel

# What these answer is of the same make as what they are given; all other functions make something else of a counter.
_KEEPING = frozenset(
    {"abs", "ceil", "floor", "round", "clamp", "clamp_max", "clamp_min", "scalar", "sort", "sort_desc", "label_replace"}
    | {"label_join", "avg_over_time", "max_over_time", "min_over_time", "last_over_time", "quantile_over_time"}
    | {"histogram_quantile"}
)
_COUNTING = frozenset({"count", "group", "count_values"})
_DIFFERENCES = frozenset({"delta", "diff", "diffperc", "range", "step", "count", "changeCount", "distinctCount"})


def raw_counter(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    if _shows_a_difference(panel):
        return
    for name in dict.fromkeys(map(name_of, raw(expression, known))):
        if known.fact(name).kind == "bucket":
            wrong = f"the buckets of {name} are used as they stand: every observation since the start weighs the same"
        else:
            wrong = f"{name} is a counter and is shown as it stands: it can only rise, until a restart takes it to 0"
        yield Finding("raw-counter", wrong, "rate(…[$__rate_interval]), or increase(…[$__range]) for how many")


def raw(expression: Expr, known: Known) -> Iterator[VectorSelector]:
    """Counters whose height is what the expression answers."""
    if isinstance(expression, VectorSelector):
        if known.fact(name_of(expression)).kind in ("counter", "bucket"):
            yield expression
    elif isinstance(expression, BinaryExpr):
        yield from _of_both(expression, known)
    elif aggregated(expression) in _COUNTING or (called(expression) and called(expression) not in _KEEPING):
        return
    elif isinstance(expression, MatrixSelector):
        yield from raw(expression.vector_selector, known)
    else:
        for child in children(expression):
            yield from raw(child, known)


def _of_both(expression: BinaryExpr, known: Known) -> Iterator[VectorSelector]:
    sign = operator(expression)
    left, right = list(raw(expression.lhs, known)), list(raw(expression.rhs, known))
    if sign in COMPARISONS and not filters(expression):
        return  # it answers yes or no
    if sign == "-" and left and right:
        return  # begun less done is what is under way
    if sign in ("and", "unless") or sign in COMPARISONS:
        yield from left
    else:
        yield from left + right


def _shows_a_difference(panel: Panel) -> bool:
    """A stat that shows by how much the value changed over the time on display."""
    reduce = panel.options.get("reduceOptions")
    calculations = reduce.get("calcs") if isinstance(reduce, dict) else None
    return isinstance(calculations, list) and any(str(one) in _DIFFERENCES for one in calculations)
