"""The difference of a counter: after a restart of the broker it is a deep fall that never was."""

from collections.abc import Iterator

from promql_parser import Expr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.rate_of_gauge import over
from dashboards.lint.tree import calls, name_of
from dashboards.reading import Panel

_RIGHT = {"delta": "increase", "idelta": "increase", "deriv": "rate", "predict_linear": "rate"}


def delta_of_counter(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for call in calls(expression, *_RIGHT):
        selector = over(call.args[0])
        name = name_of(selector) if selector else ""
        if known.fact(name).kind in ("counter", "bucket"):
            yield Finding(
                "delta-of-counter",
                f"{call.func.name}() of {name}, which is a counter: a restart shows as a deep fall",
                f"{_RIGHT[call.func.name]}(), which knows restarts",
            )
