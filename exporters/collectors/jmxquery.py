"""Remote JMX through jmxquery: needs nothing on the broker but its JMX port, and a Java here.

jmxquery starts a JVM for each call, so one call asks for everything. Its own runner puts the password on the command
line, turns a timeout into an AttributeError and leaves the JVM running; so its queries, its jar and its answers are
used, and the process is run here: arguments through a pipe, a limit of its own, errors with a name.
"""

import json
import math
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from exporters.collectors.asks import Ask
from exporters.readings import Reading, Value
from kernel.errors import CollectionFailed, MissingTool

# The quick compiler, one thread for it and one for garbage that rarely comes: half the time of Java's defaults for a
# process this short.
LEAN = (
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-XX:+UseSerialGC",
    "-Xms96m",
    "-Xmn64m",
    "-Xmx192m",
    "-XX:-UsePerfData",
    "-Xshare:auto",
)
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
    def __init__(
        self, address: str, asked: Sequence[Ask], *, login: JmxLogin | None = None, timeout: float = 10.0, java: str = "java"
    ) -> None:
        self._address = address
        self._login = login or JmxLogin()
        self._timeout = timeout
        self._java = java
        self._queries = query_text(asked)
        self._running: subprocess.Popen[str] | None = None
        self._closed = False

    def collect(self) -> list[Reading]:
        return rows(self._run())

    def close(self) -> None:
        """Also while another thread collects: it does not have to wait for a node that hangs."""
        self._closed = True
        if process := self._running:
            process.kill()

    def _run(self) -> str:
        reader, writer = os.pipe()
        try:
            process = self._running = subprocess.Popen(
                [self._java, f"@/dev/fd/{reader}"],  # the launcher reads its arguments there: none is on the command line
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(reader,),
                start_new_session=True,  # so that Ctrl-C in a terminal does not look like a broker's failure
                text=True,
            )
        except FileNotFoundError:
            os.close(writer)
            raise MissingTool(f"{self._java} is not on the PATH: jmxquery needs a Java runtime, 11 or newer.") from None
        finally:
            os.close(reader)
        try:
            with os.fdopen(writer, "w") as arguments:
                arguments.write(self._arguments())
            out, said = process.communicate(timeout=self._timeout)
        except BrokenPipeError:
            raise CollectionFailed(f"{self._java} ended before it was asked anything.", reason="error") from None
        except subprocess.TimeoutExpired:
            raise CollectionFailed(
                f"{self._address} took the call and did not answer within {self._timeout:g} s.", reason="timeout"
            ) from None
        finally:
            _end(process)
            self._running = None
        if self._closed:
            raise CollectionFailed(f"{self._address} was not asked to the end: the exporter is closing.", reason="closed")
        if process.returncode:
            raise self._failure(said + out)
        return out

    def _arguments(self) -> str:
        from jmxquery import JAR_PATH

        login = self._login
        words: list[str] = [*LEAN]
        if login.truststore:
            words += [
                f"-Djavax.net.ssl.trustStore={login.truststore}",
                f"-Djavax.net.ssl.trustStorePassword={login.truststore_password}",
                "-Djavax.net.ssl.trustStoreType=PKCS12",
            ]
        words += ["-jar", JAR_PATH, "-url", f"service:jmx:rmi:///jndi/rmi://{self._address}/jmxrmi", "-json"]
        if login.username:
            words += ["-u", login.username, "-p", login.password]
        words += ["-q", self._queries]
        return "\n".join(_quoted(word) for word in words)

    def _failure(self, said: str) -> CollectionFailed:
        for words, reason, meaning in _REASONS:
            if words in said:
                return CollectionFailed(f"{self._address} {meaning}.", reason=reason)
        # Java may print what it was given, the password too: only the name of its exception is safe to repeat.
        kind = next((word.strip(":,") for word in said.split() if word.strip(":,").endswith(("Exception", "Error"))), "")
        return CollectionFailed(f"{self._address} could not be asked{': ' + kind if kind else ''}.", reason="error")


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


def _quoted(word: str) -> str:
    """As the java launcher reads an argument file: in quotes, with backslashes doubled."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.kill()  # it holds nothing but a connection
        process.communicate()
