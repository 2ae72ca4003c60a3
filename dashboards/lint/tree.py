"""Ways through a parsed expression: its selectors, what is done to them, and which labels are left. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser as promql
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    MatrixSelector,
    ParenExpr,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
)

# Labels that tell one process from another, under the names that scrape configurations give them.
INSTANCE = frozenset(
    {"instance", "node", "node_id", "node_name", "broker_id", "pod", "pod_name", "kubernetes_pod_name"}
    | {"strimzi_io_pod_name", "host", "hostname", "server", "address", "target"}
)
COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
RATES = frozenset({"rate", "irate", "increase"})
MOST = 300  # operators and brackets; the parser is written in Rust and recurses: some thousands end the whole process
_SIGNS = {"MatchOp.Equal": "=", "MatchOp.NotEqual": "!=", "MatchOp.Re": "=~", "MatchOp.NotRe": "!~"}
_STRUCTURE = re.compile(r"[(+\-*/^%<>]|==|!=(?!~)|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
STRING = re.compile(r'#[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', re.DOTALL)


def parsed(expression: str) -> Expr:
    """Raises ValueError, with the parser's reason."""
    if len(_STRUCTURE.findall(STRING.sub("", expression))) > MOST:
        raise ValueError(f"it has more than {MOST} operators and brackets")
    tree: Expr = promql.parse(expression)
    return tree


def bare(expression: Expr) -> Expr:
    """Without the brackets around it."""
    while isinstance(expression, ParenExpr):
        expression = expression.expr
    return expression


def children(expression: Expr) -> list[Expr]:
    if isinstance(expression, BinaryExpr):
        return [expression.lhs, expression.rhs]
    if isinstance(expression, Call):
        return list(expression.args)
    if isinstance(expression, AggregateExpr):
        return [expression.expr]
    if isinstance(expression, ParenExpr | UnaryExpr | SubqueryExpr):
        return [expression.expr]
    if isinstance(expression, MatrixSelector):
        return [expression.vector_selector]
    return []


def everything(expression: Expr) -> Iterator[Expr]:
    """It and all below it."""
    yield expression
    for child in children(expression):
        yield from everything(child)


def selectors(expression: Expr) -> Iterator[VectorSelector]:
    return (one for one in everything(expression) if isinstance(one, VectorSelector))


def calls(expression: Expr, *names: str) -> Iterator[Call]:
    return (one for one in everything(expression) if isinstance(one, Call) and one.func.name in names)


def operator(expression: AggregateExpr | BinaryExpr) -> str:
    return str(expression.op).lower()


def aggregated(expression: Expr) -> str:
    """sum, max, … if it is an aggregation, else nothing."""
    return operator(expression) if isinstance(expression, AggregateExpr) else ""


def called(expression: Expr) -> str:
    """rate, abs, … if it is a call of a function, else nothing."""
    return str(expression.func.name) if isinstance(expression, Call) else ""


def name_of(selector: VectorSelector) -> str:
    """Empty if it asks by a pattern."""
    if selector.name:
        return str(selector.name)
    return next((one.value for one in matchers(selector) if one.name == "__name__" and one.op == promql.MatchOp.Equal), "")


def matchers(selector: VectorSelector) -> list[Any]:
    return list(selector.matchers.matchers)


def written(matcher: Any) -> str:
    """As a query has it; the parser's own words leave quotes and backslashes as they are."""
    return f"{matcher.name}{_SIGNS[str(matcher.op)]}{json.dumps(matcher.value, ensure_ascii=False)}"


def pinned(selector: VectorSelector) -> set[str]:
    """Labels that have one value, by an equality."""
    return {one.name for one in matchers(selector) if one.op == promql.MatchOp.Equal}


def matched(selector: VectorSelector) -> set[str]:
    return {one.name for one in matchers(selector)}


def keeps(aggregation: AggregateExpr, label: str) -> bool:
    """Whether the label is still there after the aggregation."""
    modifier = aggregation.modifier
    if modifier is None:
        return False
    listed = label in modifier.labels
    return listed if modifier.type == promql.AggModifierType.By else not listed


def keeps_instances(aggregation: AggregateExpr) -> bool:
    modifier = aggregation.modifier
    if modifier is None:
        return False
    named = INSTANCE.intersection(modifier.labels)
    return bool(named) if modifier.type == promql.AggModifierType.By else not named


def filters(expression: BinaryExpr) -> bool:
    """A comparison that drops series, in contrast to one that answers 0 or 1."""
    compares = operator(expression) in COMPARISONS
    return compares and not (expression.modifier is not None and expression.modifier.return_bool)
