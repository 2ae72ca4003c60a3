"""When does each broker's certificate expire? Asked by a TLS handshake with every broker, for no bean tells it.

The handshake verifies nothing: a certificate that expired or that nobody trusts is what this is there to tell of. Nothing
is sent over such a connection. What could not be read is not told: an expiry of which nobody knows whether it still holds
would hide that the broker has a certificate no more.
"""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.probe.seen import Address, ProbePlan, Seen

log = logging.getLogger(__name__)
REASONS = ("connect", "timeout", "handshake", "unreadable")
TIMEOUT = 5.0  # for a connection, and again for the handshake
AT_ONCE = 16  # handshakes under way: a broker that hangs keeps nobody waiting
SOON = 0.5  # seconds until it is seen that a broker is new, or back
AGAIN = 60.0  # until one whose certificate could not be read is asked again


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    address: Address
    due: float  # again


class Unread(Exception):
    """Why a certificate could not be read: one of REASONS, and words for people."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class CertificateWatch:
    def __init__(
        self, config: Mapping[str, Any], plan: ProbePlan, seen: Seen, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`config`: librdkafka's settings. The probe's own certificate is read here, once, as librdkafka does it: what is
        put into its place while the probe runs is not in use yet."""
        self._plan, self._seen, self._clock = plan, seen, clock
        self._next: dict[int, Ask] = {}  # broker; those that are there
        self._asking: set[int] = set()  # brokers whose answer is waited for
        self._trouble: dict[int, str] = {}
        certificate, key = config.get("ssl.certificate.location"), config.get("ssl.key.location")
        self._context = asking(certificate, key)
        if certificate:
            seen.client_certificate = _own_expiry(Path(certificate))

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.look()
            stop.wait(SOON)

    def look(self) -> None:
        """Begin to ask whoever is due. One who was away and is back is asked at once: it may have come with another."""
        with self._seen.lock:
            there = dict(self._seen.addresses)
            for broker in self._seen.certificates.keys() - there.keys():
                del self._seen.certificates[broker]
        now = self._clock()
        self._next = {broker: ask for broker, ask in self._next.items() if there.get(broker) == ask.address}
        for broker, address in there.items():
            if len(self._asking) >= AT_ONCE:
                return  # the others when it is their turn
            if broker in self._asking or (broker in self._next and now < self._next[broker].due):
                continue
            self._asking.add(broker)
            self._next[broker] = ask = Ask(address, now + AGAIN)
            threading.Thread(target=self._ask, args=(broker, ask), daemon=True).start()  # keeps nobody from ending

    def _ask(self, broker: int, ask: Ask) -> None:
        try:
            self._learn(broker, ask)
        finally:
            self._asking.discard(broker)

    def _learn(self, broker: int, ask: Ask) -> None:
        expiry, trouble = None, ""
        try:
            expiry = expiry_of(leaf(ask.address, self._context))
        except Unread as unread:
            trouble = str(unread)
            with self._seen.lock:
                self._seen.certificate_errors[broker, unread.reason] += 1
        with self._seen.lock:
            self._seen.certificates[broker] = expiry
        self._tell(broker, trouble)
        if self._next.get(broker) is ask:  # else it went away meanwhile
            pause = self._plan.certificates_every
            self._next[broker] = Ask(ask.address, self._clock() + (min(pause, AGAIN) if trouble else pause))

    def _tell(self, broker: int, trouble: str) -> None:
        """What goes on and on is told once."""
        before = self._trouble.get(broker, "")
        self._trouble[broker] = trouble
        if trouble and trouble != before:
            log.warning("the certificate of broker %d cannot be read: %s", broker, trouble)
        if not trouble and before:
            log.info("the certificate of broker %d is read again", broker)


def uses_tls(config: Mapping[str, Any]) -> bool:
    return str(config.get("security.protocol", "")).upper() in ("SSL", "SASL_SSL")


def asking(certificate: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Takes whatever a broker shows, weak keys too; shows the probe's own certificate to those who want one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if certificate:
        try:
            context.load_cert_chain(certificate, key, password=lambda: "")  # never ask a terminal
        except OSError as trouble:  # ssl.SSLError is one
            log.warning("brokers' certificates are read without showing %s: %s", certificate, _words(trouble))
    return context


def leaf(address: Address, context: ssl.SSLContext, timeout: float = TIMEOUT) -> bytes:
    """The certificate a server shows, in DER. Its name is said first (SNI), as Kafka's clients do it."""
    host, port = address
    try:
        with socket.create_connection(address, timeout=timeout) as connection:
            return _shown(context, connection, host)
    except TimeoutError:
        raise Unread("timeout", f"{host}:{port} does not answer within {timeout:g} s.") from None
    except (OSError, UnicodeError) as trouble:  # UnicodeError: a name that cannot be one
        raise Unread("connect", f"{host}:{port} cannot be reached: {_words(trouble)}.") from None


def _shown(context: ssl.SSLContext, connection: socket.socket, host: str) -> bytes:
    try:
        with context.wrap_socket(connection, server_hostname=host) as secured:
            shown = secured.getpeercert(binary_form=True)
    except TimeoutError:
        raise
    except (OSError, ValueError) as trouble:  # reset by the peer; no TLS at all; a certificate of ours is wanted
        raise Unread("handshake", f"{host} does not complete a TLS handshake: {_words(trouble)}.") from None
    if shown is None:
        raise Unread("unreadable", f"{host} shows no certificate.")
    return shown


def expiry_of(certificate: bytes) -> float:
    """Of one in DER, as Unix time."""
    from cryptography import x509

    try:
        return x509.load_der_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError as trouble:
        raise Unread("unreadable", f"it is no certificate that can be understood: {trouble}.") from None


def _own_expiry(file: Path) -> float | None:
    """Of the first certificate in a PEM file: those behind it are of whoever signed it."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(file.read_bytes())[0].not_valid_after_utc.timestamp()
    except (OSError, ValueError) as trouble:
        log.warning("the expiry of %s is not told: %s", file, _words(trouble))
        return None


def _words(trouble: Exception) -> str:
    return str(getattr(trouble, "reason", None) or getattr(trouble, "strerror", None) or trouble).rstrip(".")
