"""Jolokia's agent in the broker: one request for everything, answered in tens of milliseconds."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exporters.collectors.asks import Ask
from exporters.collectors.http import ask
from exporters.readings import Reading, Value
from kernel.errors import CollectionFailed

if TYPE_CHECKING:
    from requests import Session

# A bean that throws spoils its own value and no other; names stay in the order in which Kafka registers their keys.
CONFIG = {"ignoreErrors": "true", "canonicalNaming": "false", "maxDepth": "4"}
NO_SUCH_BEAN = 404


class JolokiaCollector:
    def __init__(self, address: str, asked: Sequence[Ask], *, session: "Session", timeout: float = 10.0) -> None:
        self._address, self._session, self._timeout = address, session, timeout
        self._asked = asked
        self._bulk = [
            {"type": "read", "mbean": one.pattern, "config": CONFIG}
            | ({"attribute": list(one.attributes)} if one.attributes else {})  # or all of them
            for one in asked
        ]

    def collect(self) -> list[Reading]:
        text = ask(self._session, self._address, timeout=self._timeout, json=self._bulk)
        return list(readings(self._asked, text, self._address))

    def close(self) -> None:
        self._session.close()


def readings(asked: Sequence[Ask], text: bytes, address: str) -> Iterator[Reading]:
    try:
        answers = json.loads(text)
    except ValueError:
        raise CollectionFailed(f"{address} answered with something that is not JSON.", reason="bad-answer") from None
    if not isinstance(answers, list) or len(answers) != len(asked):
        raise CollectionFailed(f"{address} does not answer as Jolokia does.", reason="bad-answer")
    for one, answer in zip(asked, answers, strict=True):
        status = answer.get("status")
        if status == NO_SUCH_BEAN:
            continue
        if status != 200:
            raise CollectionFailed(f"{address} refused to read {one.pattern} (status {status}).", reason="bad-answer")
        beans = answer["value"] if one.is_pattern else {one.pattern: answer["value"]}
        for bean, values in beans.items():
            yield from _values(bean, values)


def _values(bean: str, values: Any) -> Iterator[Reading]:
    if not isinstance(values, dict):
        return
    for attribute, value in values.items():
        if isinstance(value, dict):  # a composite
            for key, part in value.items():
                yield Reading(bean, f"{attribute}.{key}", _value(part))
        else:
            yield Reading(bean, attribute, _value(value))


def _value(value: Any) -> Value:
    return value if isinstance(value, (str, bool, int, float)) else None
