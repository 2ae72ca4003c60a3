"""Certificates as the probe reads them: real ones, from real TLS servers on loopback, good, expired, gone or changed."""

import json
import logging
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from compose.credentials import Credentials
from exporters.probe.certificates import REASONS, CertificateWatch, Unread, asking, expiry_of, leaf, uses_tls
from exporters.probe.figures import families
from exporters.probe.seen import ProbePlan, Seen
from kernel.waiting import wait_until
from tests.promtool import needed
from tests.pure.snippets import DOCS

SOON = datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC)
LATER = datetime(2033, 1, 1, tzinfo=UTC)
PAST = datetime(2020, 2, 29, 12, tzinfo=UTC)
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(certificate: trustme.LeafCert, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    certificate.configure_cert(context)
    return context


class Server:
    """Shakes hands with whoever comes, and counts them. Without a context it takes connections and says nothing."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context, self.asked = context, 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.kept: list[socket.socket] = []
        self.at = ("127.0.0.1", int(self.listening.getsockname()[1]))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.asked += 1
            if self.context is None:
                self.kept.append(connection)
                continue
            with suppress(OSError), self.context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for connection in self.kept:
            connection.close()


@contextmanager
def serving(context: ssl.SSLContext | None) -> Iterator[Server]:
    server = Server(context)
    try:
        yield server
    finally:
        server.close()


def expires(authority: trustme.CA, when: datetime) -> trustme.LeafCert:
    return authority.issue_cert("127.0.0.1", not_after=when)


def refused(address: tuple[str, int], context: ssl.SSLContext | None = None, timeout: float = 5.0) -> Unread:
    with pytest.raises(Unread) as unread:
        leaf(address, context or asking(), timeout)
    return unread.value


# ---- one certificate ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [PAST, SOON, datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)])
def test_an_expiry_is_the_certificates_own(authority: trustme.CA, when: datetime):
    pem = expires(authority, when).cert_chain_pems[0].bytes()

    assert expiry_of(x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)) == when.timestamp()


def test_what_is_no_certificate_is_said_to_be_none():
    with pytest.raises(Unread) as unread:
        expiry_of(b"\x30\x03\x02\x01\x00")

    assert unread.value.reason == "unreadable"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("when", [PAST, SOON])
def test_what_a_server_shows_is_read_though_it_expired_and_nobody_trusts_it(
    authority: trustme.CA, version: ssl.TLSVersion, when: datetime
):
    with serving(server_side(expires(authority, when), version)) as server:
        assert expiry_of(leaf(server.at, asking())) == when.timestamp()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_wants_a_certificate_gets_the_probes_own(
    authority: trustme.CA, version: ssl.TLSVersion, tmp_path: Path
):
    context = server_side(expires(authority, SOON), version)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    own = tmp_path / "own.pem"
    authority.issue_cert("probe").private_key_and_cert_chain_pem.write_to_path(str(own))

    with serving(context) as server:
        assert expiry_of(leaf(server.at, asking(str(own), str(own)))) == SOON.timestamp()
        if version is ssl.TLSVersion.TLSv1_2:  # in 1.3 a client is done before the server has looked at what it showed
            assert refused(server.at).reason == "handshake"


def test_what_is_too_weak_for_this_machine_is_still_read(tmp_path: Path):
    """An old broker, and an old certificate of the probe's own: what expires is all the more to be known."""
    key = rsa.generate_private_key(65537, 1024)  # noqa: S505  (weak is the point)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(7)
    signed = made.not_valid_before(PAST).not_valid_after(SOON).sign(key, hashes.SHA256())
    file = tmp_path / "weak.pem"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(pem + signed.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-SHA:@SECLEVEL=0")
    context.load_cert_chain(file)

    with serving(context) as server:
        assert expiry_of(leaf(server.at, asking(str(file), str(file)))) == SOON.timestamp()


# ---- no certificate -----------------------------------------------------------------------------------------------


def test_a_port_where_nobody_listens():
    with serving(None) as server:
        pass

    assert refused(server.at).reason == "connect"


@pytest.mark.parametrize("host", ["nowhere.invalid", "a..b", "x" * 300])
def test_a_name_that_is_nowhere(host: str):
    assert refused((host, 9092)).reason == "connect"


@pytest.mark.slow
def test_one_that_says_nothing_is_not_waited_for_any_longer_than_agreed():
    began = time.monotonic()
    with serving(None) as server:
        assert refused(server.at, timeout=0.3).reason == "timeout"

    assert time.monotonic() - began < 4.5


def test_one_that_does_not_speak_tls():
    with serving(None) as server:
        threading.Thread(target=answer_in_plain, args=(server,), daemon=True).start()

        assert refused(server.at).reason == "handshake"


def answer_in_plain(server: Server) -> None:
    wait_until(lambda: server.kept, bool, what="a caller", timeout=10, every=0.01)[0].sendall(b"HTTP/1.1 400 no\r\n\r\n")


def test_one_that_hangs_up():
    with serving(None) as server:
        threading.Thread(target=hang_up, args=(server,), daemon=True).start()

        assert refused(server.at).reason == "handshake"


def hang_up(server: Server) -> None:
    wait_until(lambda: server.kept, bool, what="a caller", timeout=10, every=0.01)[0].close()


# ---- the probe's own ----------------------------------------------------------------------------------------------


def own(file: Path, key: Path | None = None) -> float | None:
    seen = Seen()
    CertificateWatch({"ssl.certificate.location": str(file), "ssl.key.location": str(key or file)}, ProbePlan(), seen)
    return seen.client_certificate


def test_the_probes_own_is_the_first_in_its_file(authority: trustme.CA, tmp_path: Path):
    """Behind it stands whoever signed it, and before it, in our files, the key."""
    between = authority.create_child_ca()
    certificate = between.issue_cert("probe", not_after=SOON)
    file = tmp_path / "own.pem"
    pems = [certificate.private_key_pem, *certificate.cert_chain_pems]
    file.write_bytes(b"".join(pem.bytes() for pem in pems))

    assert file.read_bytes().count(b"BEGIN CERTIFICATE") == 2
    assert own(file) == SOON.timestamp()


def test_a_probe_without_a_certificate_tells_of_none():
    seen = Seen()
    CertificateWatch({}, ProbePlan(), seen)

    assert told(seen) == {}


def test_a_locked_key_asks_nobody_and_the_rest_goes_on(
    authority: trustme.CA, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    certificate = authority.issue_cert("probe", not_after=SOON)
    locked = rsa.generate_private_key(65537, 2048).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    (tmp_path / "own.pem").write_bytes(certificate.cert_chain_pems[0].bytes())
    (tmp_path / "key.pem").write_bytes(locked)

    assert own(tmp_path / "own.pem", tmp_path / "key.pem") == SOON.timestamp()
    assert "are read without showing" in caplog.text


def test_a_file_that_is_gone_is_told_and_the_rest_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    assert own(tmp_path / "gone.pem") is None
    assert f"the expiry of {tmp_path / 'gone.pem'} is not told: No such file or directory" in caplog.text


# ---- all brokers --------------------------------------------------------------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def told(seen: Seen) -> dict[tuple[str, ...], float]:
    """What Prometheus is told of certificates; errors that did not occur are left out here."""
    return {
        (family.metric.name.removeprefix("kafka_probe_"), *(value for _, value in labels)): value
        for family in families(seen, 0.0)
        if "certificate" in family.metric.name
        for _, labels, value in family.samples
        if value
    }


def there(seen: Seen, **brokers: tuple[str, int]) -> None:
    """As the keeper does it."""
    seen.addresses = {int(name.removeprefix("b")): at for name, at in brokers.items()}
    seen.brokers = frozenset(seen.addresses)


def looked(watch: CertificateWatch, seen: Seen, *servers: Server, asked: int) -> dict[tuple[str, ...], float]:
    """Once all servers together were asked so often, and it has sunk in."""
    watch.look()
    wait_until(lambda: sum(one.asked for one in servers), lambda count: count == asked, what="asked", timeout=10, every=0.01)
    wait_until(lambda: watch._asking, lambda busy: not busy, what="answers", timeout=10, every=0.01)
    return told(seen)


EXPIRY = "certificate_expiry_timestamp_seconds"


def test_every_broker_is_asked_at_once_and_then_only_when_it_is_due(authority: trustme.CA):
    seen, clock = Seen(), Clock()
    watch = CertificateWatch({}, ProbePlan(certificates_every=600), seen, clock=clock)
    with serving(server_side(expires(authority, SOON))) as one, serving(server_side(expires(authority, PAST))) as two:
        there(seen, b1=one.at, b2=two.at)
        first = looked(watch, seen, one, two, asked=2)
        clock.now += 599
        looked(watch, seen, one, two, asked=2)
        one.context = server_side(expires(authority, LATER))
        clock.now += 2
        second = looked(watch, seen, one, two, asked=4)

    assert first == {(EXPIRY, "1"): SOON.timestamp(), (EXPIRY, "2"): PAST.timestamp()}
    assert second == {(EXPIRY, "1"): LATER.timestamp(), (EXPIRY, "2"): PAST.timestamp()}


def test_what_can_no_longer_be_read_is_no_longer_told_and_asked_for_again_soon(
    authority: trustme.CA, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    seen, clock = Seen(), Clock()
    watch = CertificateWatch({}, ProbePlan(certificates_every=600), seen, clock=clock)
    with serving(server_side(expires(authority, SOON))) as server:
        there(seen, b1=server.at)
        assert looked(watch, seen, server, asked=1) == {(EXPIRY, "1"): SOON.timestamp()}
        good, server.context = server.context, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # which has no certificate to show
        clock.now += 601
        assert looked(watch, seen, server, asked=2) == {("certificate_errors_total", "1", "handshake"): 1}
        clock.now += 61
        assert looked(watch, seen, server, asked=3) == {("certificate_errors_total", "1", "handshake"): 2}
        server.context = good
        clock.now += 61
        assert looked(watch, seen, server, asked=4)[EXPIRY, "1"] == SOON.timestamp()

    assert caplog.text.count("the certificate of broker 1 cannot be read: 127.0.0.1 does not complete a TLS handshake") == 1
    assert caplog.text.count("the certificate of broker 1 is read again") == 1


def test_one_that_is_asked_often_is_not_asked_less_often_because_it_failed():
    seen, clock = Seen(), Clock()
    watch = CertificateWatch({}, ProbePlan(certificates_every=10), seen, clock=clock)
    with serving(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as server:
        there(seen, b1=server.at)
        looked(watch, seen, server, asked=1)
        clock.now += 11
        looked(watch, seen, server, asked=2)


def test_errors_begin_at_zero_for_each_reason(authority: trustme.CA):
    seen = Seen()
    with serving(server_side(expires(authority, SOON))) as server:
        there(seen, b1=server.at)
        looked(CertificateWatch({}, ProbePlan(), seen), seen, server, asked=1)

    (errors,) = [family for family in families(seen, 0.0) if family.metric.name.endswith("certificate_errors_total")]
    assert [(labels, value) for _, labels, value in errors.samples] == [
        ((("broker", "1"), ("reason", reason)), 0.0) for reason in REASONS
    ]


def test_a_broker_that_is_gone_is_not_told_of_and_asked_at_once_when_it_is_back(authority: trustme.CA):
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen, clock=Clock())
    with serving(server_side(expires(authority, SOON))) as one, serving(server_side(expires(authority, SOON))) as two:
        there(seen, b1=one.at, b2=two.at)
        looked(watch, seen, one, two, asked=2)
        there(seen, b1=one.at)
        assert told(seen) == {(EXPIRY, "1"): SOON.timestamp()}, "before anybody looked again"
        looked(watch, seen, one, two, asked=2)
        two.context = server_side(expires(authority, LATER))
        there(seen, b1=one.at, b2=two.at)
        assert told(seen) == {(EXPIRY, "1"): SOON.timestamp()}, "nothing is known of the one that is back"

        assert looked(watch, seen, one, two, asked=3)[EXPIRY, "2"] == LATER.timestamp()


def test_a_broker_that_moved_is_asked_where_it_is_now(authority: trustme.CA):
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen, clock=Clock())
    with serving(server_side(expires(authority, SOON))) as one, serving(server_side(expires(authority, LATER))) as two:
        there(seen, b1=one.at)
        looked(watch, seen, one, two, asked=1)
        there(seen, b1=two.at)

        assert looked(watch, seen, one, two, asked=2) == {(EXPIRY, "1"): LATER.timestamp()}


def test_one_that_hangs_keeps_no_other_waiting(authority: trustme.CA):
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen)
    with serving(None) as silent, serving(server_side(expires(authority, SOON))) as other:
        there(seen, b1=silent.at, b2=other.at)
        watch.look()
        wait_until(lambda: told(seen), bool, what="the other's", timeout=4, every=0.01)
        watch.look()  # not a second call to one who has not answered the first

        assert (silent.asked, told(seen)) == (1, {(EXPIRY, "2"): SOON.timestamp()})


def test_one_that_comes_and_goes_while_its_answer_is_waited_for_is_not_called_again_and_again():
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen)
    with serving(None) as silent:
        for _ in range(5):
            there(seen, b1=silent.at)
            watch.look()
            there(seen)
            watch.look()
        wait_until(lambda: silent.asked, bool, what="asked", timeout=4, every=0.01)
        time.sleep(0.1)

        assert silent.asked == 1


def test_one_that_was_away_meanwhile_is_asked_anew_once_the_answer_of_before_is_there():
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen)
    with serving(None) as silent:
        there(seen, b1=silent.at)
        watch.look()
        wait_until(lambda: silent.kept, bool, what="asked", timeout=4, every=0.01)
        there(seen)
        watch.look()
        there(seen, b1=silent.at)
        silent.kept[0].close()
        wait_until(lambda: watch._asking, lambda busy: not busy, what="an answer", timeout=4, every=0.01)
        watch.look()

        wait_until(lambda: silent.asked, lambda asked: asked == 2, what="asked anew", timeout=4, every=0.01)


@pytest.mark.slow
def test_no_more_are_asked_at_a_time_than_agreed():
    seen = Seen()
    watch = CertificateWatch({}, ProbePlan(), seen)
    with serving(None) as silent:
        there(seen, **{f"b{number}": silent.at for number in range(100)})
        for _ in range(5):
            watch.look()
        wait_until(lambda: silent.asked, lambda asked: asked == 16, what="asked", timeout=4, every=0.01)
        time.sleep(0.1)

        assert silent.asked == 16


@pytest.mark.parametrize(
    ("config", "tls"),
    [
        ({}, False),
        ({"security.protocol": "PLAINTEXT"}, False),
        ({"security.protocol": "SASL_PLAINTEXT"}, False),
        ({"security.protocol": "SSL"}, True),
        ({"security.protocol": "sasl_ssl"}, True),
    ],
)
def test_only_with_tls_is_there_anything_to_look_at(config: dict[str, str], tls: bool):
    assert uses_tls(config) is tls


# ---- the page's alerts --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_pages_alerts_fire_when_they_should_and_stay_quiet_when_not(tmp_path: Path):
    [block] = re.findall(r"```yaml\n(.*?)```", (DOCS / "probe.md").read_text(), re.DOTALL)
    (tmp_path / "rules.yaml").write_text(block)
    soon, late = {"broker": "1"}, 14 * 86_400
    broker, own = f'kafka_probe_{EXPIRY}{{broker="1"}}', "kafka_probe_client_certificate_expiry_timestamp_seconds"
    unread = 'kafka_probe_certificate_errors_total{broker="1",reason="timeout"}'

    def case(series: str, values: str, alert: str, labels: dict[str, str] | None) -> dict[str, object]:
        firing = [] if labels is None else [{"exp_labels": labels}]
        return {
            "interval": "1m",
            "input_series": [{"series": series, "values": values}],
            "alert_rule_test": [{"eval_time": "20m", "alertname": alert, "exp_alerts": firing}],
        }

    tests = [
        case(broker, f"{late}x30", "KafkaCertificateExpires", soon),  # in 14 days less 20 minutes
        case(broker, f"{late + 3600}x30", "KafkaCertificateExpires", None),
        case(own, f"{late}x30", "KafkaProbeCertificateExpires", {}),
        case(own, f"{late + 3600}x30", "KafkaProbeCertificateExpires", None),
        case(unread, "0x12 1+1x20", "KafkaCertificateUnread", soon | {"reason": "timeout"}),
        case(unread, "0x12 1x20", "KafkaCertificateUnread", None),  # once, and then no more
    ]
    (tmp_path / "tests.json").write_text(json.dumps({"rule_files": ["rules.yaml"], "tests": tests}))
    checked = subprocess.run(
        [needed("promtool"), "test", "rules", "tests.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


# ---- clusters to try it on ----------------------------------------------------------------------------------------


def node_expiry(credentials: Credentials) -> datetime:
    return x509.load_pem_x509_certificates(credentials.node_files(1)["node.pem"])[0].not_valid_after_utc


def test_a_cluster_may_have_certificates_that_expire_soon(tmp_path: Path):
    until = datetime.now(UTC) + timedelta(days=3)

    assert abs(node_expiry(Credentials(tmp_path / "a", "tls", 3)) - until) < timedelta(seconds=30)
    assert node_expiry(Credentials(tmp_path / "b", "tls")).year == 3000
