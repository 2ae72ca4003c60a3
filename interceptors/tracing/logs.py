"""Without OpenTelemetry a span is a line in the log, with its facts for whoever collects logs as data.

Nobody listening (the logger `interceptors.tracing` is not enabled for INFO) means that nothing is built; ids and headers are
the same all the time.
"""

import logging
from typing import Any

from interceptors.tracing.context import TraceContext
from interceptors.tracing.sampling import of_ratio
from interceptors.tracing.spans import Draft, Failure, LinkTo, Recorder, with_failure

LOG = logging.getLogger("interceptors.tracing")


class Logs(Recorder):
    def __init__(self, sample: float = 1.0) -> None:
        super().__init__()
        self._rule = of_ratio(sample)
        self.decide_by(self._rule)

    def listening(self) -> bool:
        return LOG.isEnabledFor(logging.INFO)

    def begin(
        self,
        name: str,
        kind: str,
        parent: TraceContext | None,
        attributes: dict[str, Any],
        links: tuple[LinkTo, ...] = (),
        *,
        start: int,
        live: bool = False,
        context: TraceContext | None = None,
    ) -> Draft:
        context = context or self.placed(parent, self._rule)
        recording = bool(context.sampled) and self.listening()
        return Draft(name, kind, context, parent, attributes, links, start, recording)

    def finish(self, draft: Draft, end: int, failure: Failure | None = None) -> None:
        facts = facts_of(draft, end, failure)
        LOG.info(
            "%s %s trace %s span %s%s",
            facts["name"],
            f"failed with {failure.type} after {facts['duration']:.6f} s," if failure else f"{facts['duration']:.6f} s,",
            facts["trace_id"],
            facts["span_id"],
            f" under {facts['parent_id']}" if facts["parent_id"] else "",
            extra={"span": facts},
        )


def facts_of(draft: Draft, end: int, failure: Failure | None) -> dict[str, Any]:
    """As JSON takes it; times in seconds."""
    parent = draft.parent
    return {
        "name": draft.name,
        "kind": draft.kind,
        "trace_id": draft.context.trace_id,
        "span_id": draft.context.span_id,
        "parent_id": parent.span_id if parent is not None and parent.span_id else None,
        "start": draft.start / 1e9,
        "duration": (end - draft.start) / 1e9,
        "attributes": with_failure(draft.attributes, failure),
        "links": [
            {"trace_id": link.context.trace_id, "span_id": link.context.span_id, "attributes": link.attributes}
            for link in draft.links
        ],
        "error": failure.description if failure else None,
    }
