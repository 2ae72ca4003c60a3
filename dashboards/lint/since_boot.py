"""An average that Kafka makes itself: since the broker started, or one that takes minutes to notice."""

import re
from collections.abc import Iterator

from promql_parser import Expr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.tree import name_of, selectors
from dashboards.reading import Panel

_MADE = re.compile(
    r"^(?P<of>.*?)_*(?P<which>mean|one_?minute|five_?minute|fifteen_?minute)_?rate(_percent)?$", re.IGNORECASE
)


def since_boot(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    for name in dict.fromkeys(map(name_of, selectors(expression))):
        made = _MADE.match(name)
        if made is None:
            continue
        if made["which"].lower() == "mean":
            wrong = f"{name} is an average since the broker started: after a week nothing moves it"
        else:
            wrong = f"{name} is an average that decays over minutes: it rises late and falls late"
        yield Finding("since-boot", wrong, f"the rate() of its count: {_count(made['of'], known)}")


def _count(of: str, known: Known) -> str:
    base = of.removesuffix("_")
    candidates = (f"{base}_total", base, f"{base}_count", re.sub("persec$", "_total", base))
    metric = next((known.fact(one).metric for one in candidates if known.fact(one).metric), "")
    idle = next((name for name in known.families if re.sub("_?percent$", "", base) + "_seconds_total" == name), "")
    return f"rate({idle or metric or base + '_total'}[$__rate_interval])"
