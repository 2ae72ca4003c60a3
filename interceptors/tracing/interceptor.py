"""Tracing as an interceptor: a record leaves with its trace in its headers, and its span ends when it is acknowledged.

`interceptor.classes = interceptors.tracing.Tracing`, for producers and consumers alike. What is not recorded costs an id and
a header; only what is recorded (or measured) is heard of again.
"""

from collections import Counter
from collections.abc import Mapping
from time import monotonic_ns, time_ns
from typing import Any

from interceptors.contract import Event, Happening, Interceptor
from interceptors.record import ProducerRecord, Report, make
from interceptors.tracing.consuming import Consuming
from interceptors.tracing.context import RANDOM, SAMPLED, TraceContext
from interceptors.tracing.current import PROCESSING, surroundings
from interceptors.tracing.facts import add_place, add_record, measured, operation, was_sent
from interceptors.tracing.metering import Meters
from interceptors.tracing.names import DESTINATION
from interceptors.tracing.parents import parent_of
from interceptors.tracing.providers import Providers
from interceptors.tracing.reading import BAGGAGE, KNOWN, TRACEPARENT, read
from interceptors.tracing.settings import Settings, settings_of
from interceptors.tracing.spans import PRODUCER, Draft, Recorder, kafka_failure
from interceptors.tracing.writing import replaced

MOST_TOPICS = 1000  # remembered with their attributes


class Tracing(Interceptor):
    """Providers that are not given are OpenTelemetry's global ones, if they are set, now or later."""

    def __init__(self, *, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        self._given = (tracer_provider, meter_provider)
        self.bad_headers: Counter[str] = Counter()  # by name: headers that could not be read and were passed over
        self.configure({})

    def configure(self, config: Mapping[str, Any]) -> None:
        self.settings: Settings = settings_of(config)
        self.providers = Providers(self.settings.sample, *self._given)
        self.around = surroundings()
        self._here = self.around.here
        self._w3c_alone = self.settings.write == ("w3c",)
        self._sending: dict[str, tuple[str, dict[str, Any]]] = {}
        self._consuming = Consuming(self)

    # ---- producers ----------------------------------------------------------------------------------------------------

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        providers = self.providers
        if providers.looking and monotonic_ns() >= providers.next:
            providers.look(monotonic_ns())
        recorder = providers.recorder
        topic, value, key, headers, partition, timestamp, ears = record
        if self._here() or (root := recorder.root) is None:
            return self._placed(record, recorder)
        for pair in headers:
            if pair[0] in KNOWN:
                return self._placed(record, recorder)
        ids = recorder.pair()
        sampled = root(ids, None, False)
        if not self._w3c_alone or providers.meters is not None:
            context = TraceContext(ids[:32], ids[32:], sampled, recorder.random, "", False, False)
            return self._begun(record, recorder, None, context, "")
        # The way of nearly every record: as short as it can be.
        if sampled and recorder.listening():
            if (way := recorder.way()) is None:
                context = TraceContext(ids[:32], ids[32:], True, recorder.random, "", False, False)
                return self._begun(record, recorder, None, context, "")
            # Nothing of the span exists while its record is in flight, where there may be a hundred thousand of them.
            ears = (*ears, (self, self._root_acknowledged, (ids, time_ns(), monotonic_ns(), recorder, way)))
        flags = (SAMPLED if sampled else 0) | (RANDOM if recorder.random else 0)
        headers = (*headers, (TRACEPARENT, f"00-{ids[:32]}-{ids[32:]}-0{flags}".encode()))
        return make(ProducerRecord, (topic, value, key, headers, partition, timestamp, ears))

    def _placed(self, record: ProducerRecord, recorder: Recorder) -> ProducerRecord:
        """A record that has headers, or is sent where something is active."""
        found = read(record.headers)
        if found.bad:
            self.bad_headers.update(found.bad)
        parent, bags = found.context, ""
        if self._here():
            if self.around.quiet():
                return record
            parent = parent_of(found.context, self.around.active(), PROCESSING.get())
            bags = "" if any(name == BAGGAGE for name, _ in record.headers) else self.around.baggage()
        context = None if recorder.rule is None else recorder.placed(parent, recorder.rule)
        return self._begun(record, recorder, parent, context, bags)

    def _begun(
        self,
        record: ProducerRecord,
        recorder: Recorder,
        parent: TraceContext | None,
        context: TraceContext | None,
        bags: str,
    ) -> ProducerRecord:
        meters = self.providers.meters
        ears = record.ears
        if meters is not None or context is None or (context.sampled and recorder.listening()):
            title, facts = self._sending.get(record.topic) or self._sending_to(record.topic)
            facts = dict(facts)
            add_record(facts, record.key if self.settings.keys else None, record.value)
            draft = recorder.begin(title, PRODUCER, parent, facts, start=time_ns(), context=context)
            context = draft.context
            if draft.recording or meters is not None:
                ears = (*ears, (self, self._acknowledged, (draft, recorder, meters)))
        headers = replaced(record.headers, context, self.settings.write)
        if bags:
            headers = (*headers, (BAGGAGE, bags.encode()))
        topic, value, key, _, partition, timestamp, _ = record
        return make(ProducerRecord, (topic, value, key, headers, partition, timestamp, ears))

    def _sending_to(self, topic: str) -> tuple[str, dict[str, Any]]:
        made = f"send {topic}", operation(self.settings.client, "send", "send") | {DESTINATION: topic}
        if len(self._sending) < MOST_TOPICS:
            self._sending[topic] = made
        return made

    def _root_acknowledged(
        self,
        report: Report,
        error: Any,
        record: ProducerRecord,
        ids: str,
        start: int,
        began: int,
        recorder: Recorder,
        way: Any,
    ) -> None:
        title, facts = self._sending.get(record.topic) or self._sending_to(record.topic)
        facts = dict(facts)
        add_record(facts, record.key if self.settings.keys else None, record.value)
        failure = kafka_failure(error)
        add_place(facts, report.partition(), report.offset() if failure is None else None)
        context = TraceContext(ids[:32], ids[32:], True, recorder.random, "", False, False)
        draft = Draft(title, PRODUCER, context, None, facts, (), start, True)
        draft.began, draft.via = began, way
        recorder.finish(draft, draft.end(), failure)

    def _acknowledged(
        self, report: Report, error: Any, record: ProducerRecord, draft: Draft, recorder: Recorder, meters: Meters | None
    ) -> None:
        end = draft.end()
        failure = kafka_failure(error)
        place: dict[str, Any] = {}
        add_place(place, report.partition(), report.offset() if failure is None else None)
        if meters is not None:
            _, facts = self._sending.get(record.topic) or self._sending_to(record.topic)
            facts = measured(facts | place, failure)
            meters.sent(end - draft.start, facts, attempted=was_sent(failure))
        if draft.recording:
            draft.attributes.update(place)
            recorder.finish(draft, end, failure)

    # ---- consumers ----------------------------------------------------------------------------------------------------

    def on_poll(self) -> None:
        self._consuming.polled()

    def on_consume(self, records: list[Any]) -> list[Any]:
        self._consuming.received(records)
        return records

    # ---- both ---------------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        if event.what in (Happening.OFFSETS, Happening.COMMIT, Happening.ABORT):
            self._consuming.settled(event)

    def close(self) -> None:
        self._consuming.closed()
