"""A sum over topics that has their total in it too: everything is counted twice."""

from collections.abc import Iterator

from promql_parser import AggregateExpr, Expr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import everything, keeps, matched, name_of, operator, selectors
from dashboards.reading import Panel


def total_and_parts(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for aggregation in everything(expression):
        if not isinstance(aggregation, AggregateExpr) or operator(aggregation) not in ("sum", "avg", "count"):
            continue
        if keeps(aggregation, "topic"):
            continue
        inside = (one for one in selectors(aggregation.expr) if "topic" not in matched(one))
        for name in dict.fromkeys(name_of(one) for one in inside if known.fact(name_of(one)).total_and_parts):
            if not _one_kind_only(name, known):
                yield Finding(
                    "total-and-parts",
                    f"{operator(aggregation)} of {name} takes each topic and, without a topic, the total of all",
                    'say topic="" for the total, or topic!="" for the topics',
                )


def _one_kind_only(name: str, known: Known) -> bool:
    """The page at hand has only the total, or only the topics."""
    here = known.series.get(name, ())
    return bool(here) and len({bool(labels.get("topic")) for labels in here}) == 1
