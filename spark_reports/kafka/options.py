"""A cluster's address in the words of Spark's Kafka connector, and what keeps its secrets out of logs and plans.

Certificates and keys are handed over as text, not as files: executors on other machines have no such files.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kernel.cluster import ClusterAddress
from kernel.errors import UsageError

PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
SUBSCRIBE = "subscribePattern"
# Nobody waits for ever for a cluster that is not there.
PATIENCE = {"kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "15000", "fetchOffset.numRetries": "1"}
SECRETS = "(?i)secret|password|token|access[.]?key|jaas|keystore|truststore"
# For the session: Spark shows settings and sources' options in plans, logs and its web pages.
SESSION = {"spark.redaction.regex": SECRETS, "spark.sql.redaction.options.regex": f"{SECRETS}|url"}


def kafka_options(address: ClusterAddress, topic: str) -> dict[str, str]:
    """For `spark.read.format("kafka").options(**…)`. Not to be printed: it holds the password.

    The topic goes by as a pattern that it alone fits: one that nobody has written to yet is empty then, and not an error."""
    quoted = replace(address, username=_quoted(address.username), password=_quoted(address.password))
    java = {name: value for name, value in quoted.java().items() if not name.startswith(("ssl.truststore", "ssl.keystore"))}
    own = {f"kafka.{name}": value for name, value in (java | _stores(address)).items()}
    return {**PATIENCE, **own, SUBSCRIBE: f"\\Q{topic}\\E"}


def topic_of(options: Mapping[str, str]) -> str:
    return options[SUBSCRIBE][2:-2]


def shown(options: Mapping[str, str]) -> dict[str, str]:
    """The same, fit to be printed."""
    return {name: "…" if re.search(SECRETS, name) else value for name, value in options.items()}


def _stores(address: ClusterAddress) -> dict[str, str]:
    stores: dict[str, str] = {}
    if address.ca_file:
        stores |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _blocks(address.ca_file, "CERTIFICATE")}
    if address.key_file:
        stores |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": _blocks(address.key_file, "PRIVATE KEY"),
            "ssl.keystore.certificate.chain": _blocks(address.certificate_file or address.key_file, "CERTIFICATE"),
        }
    return stores


def _blocks(file: str, kind: str) -> str:
    try:
        text = Path(file).read_text()
    except (OSError, UnicodeDecodeError) as trouble:
        why = getattr(trouble, "strerror", None) or "it is not text"
        raise UsageError(f"{file} cannot be read: {why}.") from None
    found = [block.group(0) for block in PEM.finditer(text) if block.group(1).endswith(kind)]
    if not found:
        raise UsageError(f"{file} holds no PEM block that ends in {kind!r}: Spark's Kafka client reads PEM alone.")
    return "\n".join(found) + "\n"


def _quoted(text: str | None) -> str | None:
    """As it stands between the quotes of a JAAS line."""
    return text.replace("\\", "\\\\").replace('"', '\\"') if text else text
