"""Configuration files of the daemons: what is right is read, and each mistake gets one sentence that names it."""

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from kafka_trial.cli.exporter import exporter
from kafka_trial.cli.probe import probe
from kafka_trial.daemon.config_file import address_of, load, user_and_password
from kafka_trial.daemon.exporter_config import Cluster, ExporterConfig
from kafka_trial.daemon.probe_config import ProbeConfig
from kafka_trial.daemon.serving import bound
from kernel.errors import UsageError

RIGHT = """
[[clusters]]
name = "orders"
nodes = { 1 = "127.0.0.1:9101", 2 = "127.0.0.1:9102" }
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "exporter.toml"
    file.write_text(text)
    return file


def test_a_short_file_is_enough(tmp_path: Path):
    config = load(written(tmp_path, RIGHT), ExporterConfig)

    assert config.listen == "127.0.0.1:9308", "loopback, unless told otherwise"
    assert config.clusters[0].nodes == {"1": "127.0.0.1:9101", "2": "127.0.0.1:9102"}
    assert (config.clusters[0].collector, config.clusters[0].partitions.value, config.aliases) == ("jmxquery", "off", ())


def test_paths_are_seen_from_the_file(tmp_path: Path):
    (tmp_path / "secret").write_text("hush\n")
    text = RIGHT + '[clusters.login]\nusername = "monitor"\npassword_file = "secret"\n'

    config = load(written(tmp_path, text), ExporterConfig)

    assert user_and_password(config.clusters[0].login) == ("monitor", "hush")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("intervall = 5\n" + RIGHT, "the key intervall is not known: choose one of listen, tls, login, interval, "),
        (
            RIGHT + "colector = 'jolokia'\n",
            "the key clusters[0].colector is not known: choose one of name, nodes, collector, ",
        ),
        ("", "clusters is missing"),
        ("[[clusters]]\nname = 'a'\n", "clusters[0].nodes is missing"),
        ("[[clusters]]\nname = 'a'\nnodes = {}\n", "clusters[0].nodes: dictionary should have at least 1 item"),
        ("interval = -1\n" + RIGHT, "interval = -1: input should be greater than 0"),
        ("interval = 'soon'\n" + RIGHT, "interval = 'soon': input should be a valid number"),
        ("interval = 90\n" + RIGHT, "max_age (60) is shorter than interval (90)"),
        ("listen = 'here'\n" + RIGHT, "listen = 'here': not host:port"),
        (RIGHT + "collector = 'snmp'\n", "clusters[0].collector = 'snmp': input should be 'jmxquery', 'jolokia' or 'agent'"),
        (
            RIGHT + "collector = 'jolokia'\n",
            "node 1 has the address '127.0.0.1:9101', which is no http:// or https:// address",
        ),
        (
            "[[clusters]]\nname = 'a'\nnodes = { 1 = 'nowhere' }\n",
            "node 1 has the address 'nowhere', which is not host:port",
        ),
        (
            "[[clusters]]\nname = 'a'\nnodes = { 1 = 'x:99999' }\n",
            "node 1 has the address 'x:99999', which is not host:port",
        ),
        (RIGHT + RIGHT, "names the cluster 'orders' twice"),
        (RIGHT + "host = 'containers'\n", "containers does not name that of node 1"),
        (RIGHT + "partitions = 'some'\n", "clusters[0].partitions = 'some': input should be 'off', 'topic' or 'each'"),
        (RIGHT + "ca_file = 'none.pem'\n", "none.pem': path does not point to a file"),
        (RIGHT + "[clusters.login]\nusername = 'a'\n", "needs either password_file or password_env"),
        (
            RIGHT + "[clusters.login]\nusername = 'a'\npassword = 'hush'\n",
            "the key clusters[0].login.password is not known: choose one of username, password_file, password_env",
        ),
        ("listen = \n", "is not TOML: Invalid value"),
    ],
)
def test_each_mistake_has_its_sentence(tmp_path: Path, text: str, sentence: str):
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, text), ExporterConfig)

    assert sentence in caught.value.message
    assert caught.value.message.startswith(str(tmp_path / "exporter.toml"))
    assert caught.value.message.count("\n") == 0
    assert "hush" not in caught.value.message, "what may be a secret is not repeated"
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match="there is no configuration file"):
        load(tmp_path / "none.toml", ExporterConfig)
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        load(tmp_path, ExporterConfig)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="it is not text"):
        load(tmp_path / "binary", ExporterConfig)


def test_a_password_that_is_not_there_is_named_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = RIGHT + '[clusters.login]\nusername = "monitor"\npassword_env = "JMX_PASSWORD"\n'
    login = load(written(tmp_path, text), ExporterConfig).clusters[0].login

    with pytest.raises(UsageError, match="JMX_PASSWORD, which should hold a password, is not set"):
        user_and_password(login)
    monkeypatch.setenv("JMX_PASSWORD", "hush")
    assert user_and_password(login) == ("monitor", "hush")
    assert "hush" not in repr(login)


PROBE = "[kafka]\nbootstrap = 'localhost:9092'\n"


def test_a_probe_needs_a_cluster_and_no_more(tmp_path: Path):
    config = load(written(tmp_path, PROBE), ProbeConfig)

    assert (config.listen, config.plan.topic) == ("127.0.0.1:9309", "kafka-trial-probe")
    assert address_of(config.kafka).librdkafka() == {"bootstrap.servers": "localhost:9092", "security.protocol": "PLAINTEXT"}


def test_a_probe_logs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROBE_PASSWORD", "hush")
    login = "protocol = 'SASL_SSL'\nsasl_mechanism = 'SCRAM-SHA-512'\n"
    login += "[kafka.login]\nusername = 'p'\npassword_env = 'PROBE_PASSWORD'\n"

    address = address_of(load(written(tmp_path, PROBE + login), ProbeConfig).kafka)

    assert (address.username, address.password, address.sasl_mechanism) == ("p", "hush", "SCRAM-SHA-512")
    assert "hush" not in repr(address)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "kafka is missing"),
        (PROBE + "protocol = 'SASL_SSL'\n", "protocol SASL_SSL needs sasl_mechanism and a login table"),
        (PROBE + "[kafka.settings]\n'sasl.password' = 'hush'\n", "a password belongs into a file or the environment"),
        ("give_up_after = 1\n" + PROBE, "give_up_after (1) is shorter than ack_within (5)"),
        (
            "topic = 'a b'\n" + PROBE,
            "topic = 'a b': no name of a topic: letters, digits, dots, underscores and hyphens, at most 249",
        ),
        ("replication = 0\n" + PROBE, "replication = 0: input should be greater than or equal to 1"),
    ],
)
def test_a_probes_mistakes_have_their_sentences(tmp_path: Path, text: str, sentence: str):
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, text), ProbeConfig)

    assert sentence in caught.value.message
    assert "hush" not in caught.value.message


@pytest.mark.parametrize(
    ("page", "tables"), [("exporter.md", (ExporterConfig, Cluster)), ("probe.md", (ProbeConfig,))], ids=["exporter", "probe"]
)
def test_the_page_of_a_daemon_explains_every_key(page: str, tables: tuple[type[BaseModel], ...]):
    text = (Path(__file__).parent.parent.parent / "docs" / page).read_text()

    unexplained = [
        key for table in tables for key in table.model_fields if f"`{key}`" not in text and f"[[{key}]]" not in text
    ]

    assert unexplained == []


def test_what_is_listened_on_is_loopback_unless_told_otherwise():
    assert {table.model_fields["listen"].default.split(":")[0] for table in (ExporterConfig, ProbeConfig)} == {"127.0.0.1"}


def test_an_answer_is_not_held_back():
    """Of a socket that asyncio did not make; without it an answer in two parts takes 40 ms."""
    with bound("127.0.0.1:0") as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


LOGIN = 'login = { username = "monitor", password_env = "KAFKA_TRIAL_NOT_SET" }\n'
CERTIFICATE = 'tls = { cert_file = "exporter.toml", key_file = "exporter.toml" }\n'  # a file that is there, and is none
KAFKA = '[kafka]\nbootstrap = "127.0.0.1:9092"\n'


@pytest.mark.parametrize(
    ("command", "text", "sentence"),
    [
        (exporter, LOGIN + RIGHT, "the environment variable KAFKA_TRIAL_NOT_SET"),
        (exporter, RIGHT + LOGIN, "the environment variable KAFKA_TRIAL_NOT_SET"),
        (exporter, CERTIFICATE + RIGHT, "exporter.toml cannot be used"),
        (exporter, RIGHT + 'tls = true\nca_file = "exporter.toml"\n', "holds no certificate in PEM"),
        (probe, LOGIN + KAFKA, "the environment variable KAFKA_TRIAL_NOT_SET"),
        (probe, CERTIFICATE + KAFKA, "exporter.toml cannot be used"),
    ],
)
def test_a_check_looks_at_all_that_a_file_names(
    command: Callable[..., None], text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("KAFKA_TRIAL_NOT_SET", raising=False)
    with pytest.raises(UsageError, match=re.escape(sentence)):
        command(config=written(tmp_path, text), check=True)


@pytest.mark.parametrize(("command", "text"), [(exporter, LOGIN + RIGHT + LOGIN), (probe, LOGIN + KAFKA)])
def test_a_file_with_all_it_names_is_right(
    command: Callable[..., None],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("KAFKA_TRIAL_NOT_SET", "hush")

    command(config=written(tmp_path, text), check=True)

    assert "is right" in capsys.readouterr().err
