"""All checks of a query that need nothing but the query: one function each, in the order in which they are told."""

from collections.abc import Callable, Iterator

from promql_parser import Expr

from dashboards.lint.average_of_quantiles import average_of_quantiles
from dashboards.lint.delta_of_counter import delta_of_counter
from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.quantile_without_traffic import quantile_without_traffic
from dashboards.lint.rate_after_sum import rate_after_sum
from dashboards.lint.rate_of_gauge import rate_of_gauge
from dashboards.lint.raw_counter import raw_counter
from dashboards.lint.since_boot import since_boot
from dashboards.lint.sum_of_ids import sum_of_ids
from dashboards.lint.sum_of_replicated import sum_of_replicated
from dashboards.lint.total_and_parts import total_and_parts
from dashboards.lint.unit import unit
from dashboards.reading import Panel

Check = Callable[[Panel, Expr, Known], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    sum_of_replicated,
    sum_of_ids,
    rate_of_gauge,
    raw_counter,
    delta_of_counter,
    rate_after_sum,
    total_and_parts,
    average_of_quantiles,
    quantile_without_traffic,
    since_boot,
    unit,
)
