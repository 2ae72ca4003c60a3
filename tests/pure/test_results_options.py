"""A cluster's address as Spark's Kafka connector wants it; no secret in what may be printed."""

import re
from pathlib import Path

import pytest

from kernel.cluster import ClusterAddress
from kernel.errors import UsageError
from spark_reports.kafka.options import SECRETS, SESSION, kafka_options, shown, topic_of

KEY = "-----BEGIN PRIVATE KEY-----\nMIIk\n-----END PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIc\n-----END CERTIFICATE-----\n"


def test_a_cluster_without_a_login_is_its_bootstrap_and_the_topic():
    found = kafka_options(ClusterAddress("a:1,b:2"), "orders")

    assert (found["kafka.bootstrap.servers"], found["kafka.security.protocol"]) == ("a:1,b:2", "PLAINTEXT")
    assert topic_of(found) == "orders"
    assert not any("sasl" in name or "ssl" in name for name in found)


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", "PlainLoginModule"), ("SCRAM-SHA-512", "ScramLoginModule")])
def test_a_password_is_quoted_as_jaas_reads_it_and_not_shown(tmp_path: Path, mechanism: str, module: str):
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    address = ClusterAddress(
        "a:1", "SASL_SSL", ca_file=str(tmp_path / "ca.pem"), sasl_mechanism=mechanism, username="u", password='p"\\w'
    )

    found = kafka_options(address, "orders")

    assert found["kafka.sasl.jaas.config"].endswith(f'{module} required username="u" password="p\\"\\\\w";')
    assert found["kafka.ssl.truststore.certificates"] == CERTIFICATE
    assert "kafka.ssl.truststore.location" not in found, "other machines do not have the file"
    assert 'p"' not in str(shown(found))
    assert shown(found)["kafka.bootstrap.servers"] == "a:1"


@pytest.mark.parametrize("together", [True, False])
def test_a_key_and_its_certificate_are_found_in_one_file_or_in_two(tmp_path: Path, together: bool):
    one, two = tmp_path / "one.pem", tmp_path / "two.pem"
    one.write_text(KEY + CERTIFICATE if together else KEY)
    two.write_text(CERTIFICATE)
    address = ClusterAddress("a:1", "SSL", key_file=str(one), certificate_file=str(one if together else two))

    found = kafka_options(address, "orders")

    assert (found["kafka.ssl.keystore.key"], found["kafka.ssl.keystore.certificate.chain"]) == (KEY, CERTIFICATE)


def test_every_option_that_holds_a_secret_is_one_that_spark_is_told_to_hide(tmp_path: Path):
    (tmp_path / "all.pem").write_text(KEY + CERTIFICATE)
    file = str(tmp_path / "all.pem")
    address = ClusterAddress(
        "a:1", "SASL_SSL", ca_file=file, key_file=file, sasl_mechanism="PLAIN", username="u", password="w"
    )

    hidden = {name for name, value in kafka_options(address, "orders").items() if "password" in value or "KEY" in value}

    assert hidden == {"kafka.sasl.jaas.config", "kafka.ssl.keystore.key"}
    assert all(re.search(SESSION[setting], name) for name in hidden for setting in SESSION)
    assert not re.search(SECRETS, "kafka.bootstrap.servers")


@pytest.mark.parametrize(("text", "words"), [(None, "cannot be read"), ("no pem", "holds no PEM block")])
def test_a_file_that_is_no_pem_is_named(tmp_path: Path, text: str | None, words: str):
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)

    with pytest.raises(UsageError, match=rf"{file}.*{words}"):
        kafka_options(ClusterAddress("a:1", "SSL", ca_file=str(file)), "orders")
