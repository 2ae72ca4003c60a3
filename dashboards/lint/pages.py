"""A scrape page, as a broker or an exporter serves it, in Prometheus' own format or in OpenMetrics."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from dashboards.lint.known import Known, Labels, with_series
from kernel.errors import UsageError

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_TYPE = re.compile(r"^[ \t]*#[ \t]+TYPE[ \t]+(\S+)[ \t]+(\w+)[ \t\r]*$", re.MULTILINE)
_KINDS = {"unknown": "unknown", "untyped": "unknown", "info": "gauge", "stateset": "gauge"}


def with_page(known: Known, path: Path) -> Known:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a page of metrics: it is not text.")
    return with_series(known, *read_page(text, str(path)))


def read_page(text: str, source: str = "the page") -> tuple[Mapping[str, tuple[Labels, ...]], Mapping[str, str]]:
    """Name → the labels of its series; family → its declared type."""
    from prometheus_client.parser import text_string_to_metric_families as families_of

    series: dict[str, list[Labels]] = defaultdict(list)
    try:
        # Without its comments, for by them the parser gives counters a _total that the page may not have. Those of
        # OpenMetrics go with them, and its exemplars are passed over: one parser reads both.
        for family in families_of(_COMMENT.sub("", text)):
            for sample in family.samples:
                series[sample.name].append(sample.labels)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise UsageError(f"{source} is not a page of metrics: {str(error)[:200] or type(error).__name__}.")
    if not series:
        raise UsageError(f"{source} is not a page of metrics: it has no series. Save what /metrics of a broker answers.")
    types = {name: _KINDS.get(kind, kind) for name, kind in _TYPE.findall(text)}
    return {name: tuple(many) for name, many in series.items()}, types
