"""Of what an expression's value is, and in which unit, followed through rates, sums and arithmetic. Pure.

Where anything is not certain the answer is None, and nobody complains.
"""

from dataclasses import dataclass, replace

from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    MatrixSelector,
    NumberLiteral,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
)

from dashboards.lint.known import Known
from dashboards.lint.tree import COMPARISONS, bare, children, filters, name_of, operator, selectors

# The catalogue's unit → what it measures, and the size of one.
_UNITS = {
    "bytes": ("bytes", 1.0),
    "bytes/s": ("bytes/s", 1.0),
    "seconds": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "ratio": ("ratio", 1.0),
    "percent": ("ratio", 0.01),
    "": ("count", 1.0),
}
_SAME = frozenset(
    {"abs", "ceil", "floor", "round", "clamp", "clamp_max", "clamp_min", "scalar", "vector", "sort", "sort_desc"}
    | {"label_replace", "label_join", "increase", "delta", "idelta", "avg_over_time", "min_over_time", "max_over_time"}
    | {"last_over_time", "quantile_over_time"}
)
_PER_SECOND = frozenset({"rate", "irate", "deriv"})
_COUNTS = frozenset({"count_over_time", "changes", "resets"})
_GATHERED = frozenset({"increase", "delta", "idelta"})
_LAST_ARGUMENT = frozenset({"quantile_over_time"})
_SAME_AGGREGATES = frozenset({"sum", "avg", "min", "max", "topk", "bottomk", "quantile", "stddev"})


@dataclass(frozen=True, slots=True)
class Quantity:
    what: str  # bytes, time, ratio, count, each also by the second (bytes/s); constant: a number as written
    size: float = 1.0  # of one, in bytes, seconds, or as a part of one
    window: bool = False  # gathered over a window: divided by its length it would be by the second


def quantity(expression: Expr, known: Known) -> Quantity | None:
    inner = bare(expression)
    if isinstance(inner, NumberLiteral):
        return Quantity("constant", inner.val)
    if isinstance(inner, VectorSelector):
        fact = known.fact(name_of(inner))
        if fact.unit is None or fact.kind == "bucket":
            return None
        what, size = _UNITS[fact.unit]
        return Quantity(what, size * fact.factor)
    if isinstance(inner, MatrixSelector | SubqueryExpr | UnaryExpr):
        return quantity(children(inner)[0], known)
    if isinstance(inner, AggregateExpr):
        return quantity(inner.expr, known) if operator(inner) in _SAME_AGGREGATES else _count(operator(inner))
    if isinstance(inner, Call):
        return _of_call(inner, known)
    return _of_both(inner, known) if isinstance(inner, BinaryExpr) else None


def _count(word: str) -> Quantity | None:
    return Quantity("count") if word in ("count", "group") else None


def _of_call(call: Call, known: Known) -> Quantity | None:
    name = call.func.name
    if name in ("time", "timestamp"):
        return Quantity("time")
    if name in _COUNTS:
        return Quantity("count")
    if name == "histogram_quantile":
        return _of_buckets(call, known)
    if name not in _SAME and name not in _PER_SECOND:
        return None
    of = quantity(call.args[-1 if name in _LAST_ARGUMENT else 0], known)
    if of is None or name in _SAME:
        return replace(of, window=True) if of and name in _GATHERED else of
    return replace(of, what=f"{of.what}/s") if of.what in ("bytes", "time", "count") else None


def _of_buckets(call: Call, known: Known) -> Quantity | None:
    units = {known.fact(name_of(one)).unit for one in selectors(call.args[1])}
    unit = units.pop() if len(units) == 1 else None
    return Quantity(*_UNITS[unit]) if unit else None


def _of_both(expression: BinaryExpr, known: Known) -> Quantity | None:
    sign = operator(expression)
    left, right = quantity(expression.lhs, known), quantity(expression.rhs, known)
    if sign in COMPARISONS:
        if not filters(expression):
            return Quantity("count")
        return right if left is not None and left.what == "constant" else left
    if sign in ("and", "unless"):
        return left
    if left is None or right is None:
        return None
    if sign == "*":
        return _product(left, right)
    if sign == "/":
        return _quotient(left, right)
    return _alike(left, right) if sign in ("+", "-", "or") else None


def _alike(left: Quantity, right: Quantity) -> Quantity | None:
    if "constant" in (left.what, right.what):
        return right if left.what == "constant" else left
    return left if left == right else None


def _product(left: Quantity, right: Quantity) -> Quantity | None:
    if right.what == "constant" and left.what == "constant":
        return Quantity("constant", left.size * right.size)
    for one, other in ((left, right), (right, left)):
        if other.what == "constant":
            return replace(one, size=one.size / other.size) if other.size > 0 and not one.window else None
        if other.what == "count":  # times 1, as of a metric that only lends its labels
            return one if one.what != "count" else None
    return None


def _quotient(left: Quantity, right: Quantity) -> Quantity | None:
    if right.what == "constant":
        if left.what == "constant":
            return Quantity("constant", left.size / right.size) if right.size else None
        return replace(left, size=left.size * right.size) if right.size > 0 and not left.window else None
    if left.what == "constant":
        return None
    if left.what == right.what:
        # One count by another may be a share or so many for each: not certain.
        return None if left.what.startswith("count") else Quantity("ratio", left.size / right.size)
    if right.what == "count/s" and left.what.endswith("/s"):
        return replace(left, what=left.what.removesuffix("/s"))
    return left if right.what == "count" and left.what in ("bytes", "time") else None
