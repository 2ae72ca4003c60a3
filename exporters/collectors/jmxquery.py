"""Remote JMX through jmxquery: needs nothing on the broker but its JMX port, and a JDK here.

One question asks for everything. jmxquery's own runner starts a JVM for each call, puts the password on the command line,
turns a timeout into an AttributeError and leaves the JVM running; so its queries, its classes and its answers are used, and
the JVM is kept by us: told everything through a pipe, with a limit on every answer, and errors that have a name.
"""

import json
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from exporters.collectors.asks import Ask
from exporters.collectors.jvm import Jvm, NoAnswer
from exporters.readings import Reading, Value
from kernel.errors import CollectionFailed

# A query for one attribute costs three round trips, a whole bean two and one for each of its attributes; and round trips
# are what the time goes into.
WHOLE = 3  # from this many attributes on, the whole bean is cheaper
CROWDED = ("kafka.server:type=socket-server-metrics",)  # of forty attributes we want five, on every network thread

# What Java says → why it failed, in a word for the metric, and in words for people.
_REASONS = (
    ("Authentication failed", "unauthorised", "refused the user name or password"),
    ("Credentials required", "unauthorised", "wants a user name and a password"),
    ("SecurityException", "unauthorised", "refused the user name or password"),
    ("Connection refused", "refused", "refused the connection: nothing listens there"),
    ("UnknownHostException", "unknown-host", "has a name that does not resolve"),
    ("SSLHandshakeException", "tls", "could not agree on TLS: is its certificate signed by the given ca_file?"),
    ("SSLException", "tls", "could not agree on TLS: does it speak TLS at all?"),
    ("non-JRMP server", "tls", "does not speak plain JMX: does it want TLS (tls = true)?"),
    ("NoSuchObjectException", "gone", "went away while it was asked"),
    ("Connection reset", "reset", "hung up"),
    ("EOFException", "reset", "hung up"),
    ("No route to host", "unreachable", "cannot be reached"),
    ("Network is unreachable", "unreachable", "cannot be reached"),
    ("timed out", "timeout", "did not answer in time"),
)


@dataclass(frozen=True, slots=True)
class JmxLogin:
    """Read from files or the environment by whoever wires this; never printed."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    truststore: str = ""  # PKCS#12, for a broker that speaks TLS
    truststore_password: str = field(default="", repr=False)


class JmxQueryCollector:
    def __init__(self, address: str, asked: Sequence[Ask], *, login: JmxLogin | None = None, timeout: float = 10.0) -> None:
        self._address, self._timeout = address, timeout
        login = login or JmxLogin()
        self._told = (
            f"service:jmx:rmi:///jndi/rmi://{address}/jmxrmi",
            login.username,
            login.password,
            login.truststore,
            login.truststore_password,
            query_text(asked),
        )
        self._jvm: Jvm | None = None
        self._asking = threading.Lock()
        self._closed = False

    def collect(self) -> list[Reading]:
        answer = self._answer()
        if answer.startswith("!"):
            raise failure(self._address, answer)
        return rows(answer)

    def close(self) -> None:
        """Also while another thread collects: it does not have to wait for a node that hangs."""
        self._closed = True
        if jvm := self._jvm:
            jvm.kill()
        with self._asking:
            self._forget()

    def _answer(self) -> str:
        with self._asking:
            try:
                self._jvm = self._jvm or Jvm(self._told)
                if self._closed:  # while it started
                    raise NoAnswer
                return self._jvm.ask(self._timeout)
            except NoAnswer:
                self._forget()  # the next question starts another
        if self._closed:
            raise CollectionFailed(f"{self._address} was not asked to the end: it was closed.", reason="closed")
        raise CollectionFailed(
            f"{self._address} took the call and did not answer within {self._timeout:g} s.", reason="timeout"
        )

    def _forget(self) -> None:
        if self._jvm:
            self._jvm.close()
        self._jvm = None


def failure(address: str, said: str) -> CollectionFailed:
    for words, reason, meaning in _REASONS:
        if words in said:
            return CollectionFailed(f"{address} {meaning}.", reason=reason)
    # Java may print what it was given, the password too: only the name of its exception is safe to repeat.
    kind = next((word.strip(":,!") for word in said.split() if word.strip(":,!").endswith(("Exception", "Error"))), "")
    return CollectionFailed(f"{address} could not be asked{': ' + kind if kind else ''}.", reason="error")


def query_text(asked: Sequence[Ask]) -> str:
    from jmxquery import JMXQuery

    queries = []
    for ask in asked:
        if not ask.attributes or (len(ask.attributes) >= WHOLE and not ask.pattern.startswith(CROWDED)):
            queries.append(JMXQuery(ask.pattern))
        else:
            queries += [JMXQuery(ask.pattern, attribute) for attribute in ask.attributes]
    return "".join(query.to_query_string() + ";" for query in queries)


def rows(text: str) -> list[Reading]:
    try:
        answer: list[dict[str, Any]] = json.loads(text)
    except json.JSONDecodeError:
        raise CollectionFailed("jmxquery's answer was no JSON.", reason="bad-answer") from None
    return [
        Reading(
            row["mBeanName"],
            row["attribute"] + (f".{row['attributeKey']}" if row.get("attributeKey") else ""),
            _value(row.get("value")),
        )
        for row in answer
    ]


def _value(value: Any) -> Value:
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    return math.nan  # a table or a list: nothing for a metric
