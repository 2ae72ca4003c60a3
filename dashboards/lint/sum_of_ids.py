"""A sum or an average of ids: in an election brokers name different leaders, and 1 and 3 make 2, which is nobody."""

import re
from collections.abc import Iterator

from promql_parser import AggregateExpr, Expr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import aggregated, everything, keeps_instances, name_of, operator, selectors
from dashboards.reading import Panel

_SUMS = ("sum", "avg", "stddev", "stdvar")
_COUNTED_WITHIN = ("count", "group", "count_values")
_IDS = re.compile(
    r"(current_?leader|current_?vote|current_?controller_?id|current_?epoch|leader_?epoch|broker_?state|"
    r"broker_?registration_?state|metadata_?version|finalized_?level)(_value)?$"
)


def sum_of_ids(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for aggregation in everything(expression):
        if not isinstance(aggregation, AggregateExpr) or operator(aggregation) not in _SUMS or keeps_instances(aggregation):
            continue
        if any(aggregated(one) in _COUNTED_WITHIN for one in everything(aggregation.expr)):
            continue
        for name in dict.fromkeys(name_of(one) for one in selectors(aggregation.expr) if _IDS.search(name_of(one))):
            yield Finding(
                "sum-of-ids",
                f"{operator(aggregation)} of {name} is no number that means anything: it holds an id or a state",
                'max by (instance) (…) shows them beside each other, count_values("id", …) how many agree',
            )
