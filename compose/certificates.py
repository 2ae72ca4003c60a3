"""Certificates of running brokers: replaced without a restart, and looked at as a newcomer is shown them."""

import socket
import ssl
from pathlib import Path

from compose.broker_settings import alter_brokers
from kernel.cluster import ClusterAddress

LOCATION, TYPE = "ssl.keystore.location", "ssl.keystore.type"


def load_keystore(address: ClusterAddress, broker: int, listeners: tuple[str, ...], file: Path | None) -> str | None:
    """Have a broker's listeners take key and certificate from a file; None: again from where they were at its start.
    Returns what Kafka said if it refused."""
    location = {f"listener.name.{name.lower()}.{LOCATION}": str(file) if file else None for name in listeners}
    kind = {f"listener.name.{name.lower()}.{TYPE}": "PEM" if file else None for name in listeners}
    return alter_brokers(address, broker, location | kind)


def serial_of(pem: bytes) -> int:
    """The serial number of the first certificate."""
    from cryptography.x509 import load_pem_x509_certificates

    return load_pem_x509_certificates(pem)[0].serial_number


def serial_shown(address: ClusterAddress, port: int) -> int:
    """The serial number that a new connection is shown. Raises ssl.SSLCertVerificationError if it is not to be trusted."""
    context = ssl.create_default_context(cafile=address.ca_file)
    if address.certificate_file:
        context.load_cert_chain(address.certificate_file, address.key_file)
    with (
        socket.create_connection(("127.0.0.1", port), 10) as line,
        context.wrap_socket(line, server_hostname="localhost") as tls,
    ):
        shown = tls.getpeercert() or {}
    return int(str(shown["serialNumber"]), 16)
