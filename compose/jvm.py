"""The command line of a broker's JVM, tuned to be up quickly and to stay small. Pure."""

from collections.abc import Sequence

from compose.broker_config import Place, Ports

# One GC thread and the quick compiler: three brokers on two cores start in half the time and take 300 MB each.
LEAN = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xss512k")
MAIN = "kafka.Kafka"


def broker_command(
    java: str,
    class_path: Sequence[str],
    place: Place,
    ports: Ports,
    *,
    heap: str,
    archive: str | None = None,
    agent_jar: str | None = None,
    jolokia_jar: str | None = None,
    options: Sequence[str] = (),
) -> list[str]:
    """`archive` is an AppCDS archive; it only counts when the class path is spelled out just as when it was made."""
    return [
        java,
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *LEAN,
        *([f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"] if archive else []),
        *_jmx(place.local_host, ports.jmx),
        *([f"-javaagent:{agent_jar}={place.local_host}:{ports.agent}:{place.home}/agent.yaml"] if agent_jar else []),
        *([f"-javaagent:{jolokia_jar}={_jolokia(place.local_host, ports.jolokia)}"] if jolokia_jar else []),
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djdk.net.hosts.file={place.home}/hosts",
        f"-Dlog4j2.configurationFile={place.home}/log4j2.properties",
        f"-Dlog4j.configuration=file:{place.home}/log4j.properties",
        *options,
        "-cp",
        ":".join(class_path),
        MAIN,
        f"{place.home}/server.properties",
    ]


def _jolokia(host: str, port: int) -> str:
    """Quiet, and without the multicast by which it would tell the whole network of itself."""
    quiet = "logHandlerClass=org.jolokia.server.core.service.impl.QuietLogHandler"
    return f"host={host},port={port},discoveryEnabled=false,{quiet}"


def _jmx(host: str, port: int) -> list[str]:
    """Remote JMX, always told to callers as 127.0.0.1: it has no password, so it must not leave the machine."""
    prefix = "-Dcom.sun.management.jmxremote"
    return [
        f"{prefix}.port={port}",
        f"{prefix}.rmi.port={port}",
        f"{prefix}.host={host}",
        # The JDK also opens a connector for tools on this machine, on a port and address nobody can choose (all of them).
        # It hangs up on callers from elsewhere; that is its default, said here because everything else rests on it.
        f"{prefix}.local.only=true",
        f"{prefix}.authenticate=false",
        f"{prefix}.ssl=false",
        "-Djava.rmi.server.hostname=127.0.0.1",
    ]
