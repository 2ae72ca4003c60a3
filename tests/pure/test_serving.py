"""The HTTP side of a daemon, as a scraper, an orchestrator and an intruder meet it: a real process, no Kafka."""

import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from kernel.waiting import wait_until

pytestmark = pytest.mark.slow  # each starts a process

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
NODE = '[[clusters]]\nname = "a"\nnodes = { 1 = "127.0.0.1:1" }\n'  # refused at once: nothing listens there
PASSWORD = "s3cret: so long"


@contextmanager
def exporter(folder: Path, config: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Running, on a port that the system chose and the daemon told."""
    file = folder / "exporter.toml"
    file.write_text('listen = "127.0.0.1:0"\n' + config + NODE)
    process = subprocess.Popen([TRIAL, "exporter", "--config", str(file)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        told = ""
        while "listening on " not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        yield process, int(told.rsplit(":", 1)[1].split("/")[0])
    finally:
        process.kill()
        process.communicate()


def test_it_answers_and_ends_well(tmp_path: Path):
    with exporter(tmp_path, "") as (process, port), httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        assert client.get("/-/healthy").text == "healthy\n"
        wait_until(lambda: client.get("/-/ready").status_code, lambda code: code == 200, what="ready", timeout=30)
        page = client.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain; version=")
        assert 'kafka_jmx_up{cluster="a",node="1"} 0.0' in page.text
        assert 'kafka_jmx_errors_total{cluster="a",node="1",reason="refused"}' in page.text
        newer = client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
        assert newer.headers["content-type"].startswith("application/openmetrics-text")
        assert newer.text.endswith("# EOF\n")
        assert client.get("/").status_code == 404
        assert client.post("/metrics").status_code == 405
        assert "server" not in client.get("/metrics").headers

        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_ctrl_c_ends_it_well_too(tmp_path: Path):
    with exporter(tmp_path, "") as (process, _):
        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=30) == 0


def test_it_is_not_ready_before_it_knows_anything(tmp_path: Path):
    """A node that takes the call and says nothing: nothing is known, and nobody is kept waiting for that."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        node = f'[[clusters]]\nname = "mute"\ntimeout = 60\nnodes = {{ 1 = "127.0.0.1:{mute.getsockname()[1]}" }}\n'
        with exporter(tmp_path, node) as (process, port), httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/-/healthy").status_code == 200
            assert client.get("/-/ready").status_code == 503
            assert 'kafka_jmx_up{cluster="mute",node="1"} 0.0' in client.get("/metrics").text

            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0, "it did not wait for the node to answer"


def test_a_password_is_asked_for_where_one_is_set(tmp_path: Path):
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    login = 'login = { username = "prometheus", password_file = "password" }\n'
    with exporter(tmp_path, login) as (_, port), httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        nobody = client.get("/metrics")
        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, 'Basic realm="kafka-trial"')
        assert "kafka_" not in nobody.text
        for user, word in (("prometheus", "wrong"), ("somebody", PASSWORD), ("prometheus", "")):
            assert client.get("/metrics", auth=(user, word)).status_code == 401
        assert client.get("/metrics", headers={"authorization": "Basic ÿ".encode("latin-1")}).status_code == 401
        assert client.get("/metrics", auth=("prometheus", PASSWORD)).status_code == 200
        assert client.get("/-/healthy").status_code == 200, "an orchestrator has no password"


def test_tls_is_spoken_where_a_certificate_is_given(tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    identity = authority.issue_cert("127.0.0.1")
    identity.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    identity.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    with exporter(tmp_path, 'tls = { cert_file = "cert.pem", key_file = "key.pem" }\n') as (_, port):
        address = f"https://127.0.0.1:{port}/metrics"
        trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        assert httpx.get(address, verify=trusting).status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(address)
        with pytest.raises(httpx.HTTPError):
            httpx.get(address.replace("https", "http"))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("", "cannot be had: Address already in use."),
        ('tls = { cert_file = "exporter.toml", key_file = "exporter.toml" }\n', "cannot be used: "),
        ('login = { username = "p", password_file = "none" }\n', "none"),
        ("intervall = 3\n", "intervall"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_runs(tmp_path: Path, config: str, sentence: str):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        file = tmp_path / "exporter.toml"
        file.write_text(f'listen = "127.0.0.1:{taken.getsockname()[1]}"\n{config}{NODE}')

        told = subprocess.run(
            [TRIAL, "exporter", "--config", str(file)], capture_output=True, text=True, check=False, timeout=60
        )

    assert (told.returncode, told.stdout) == (2, "")
    (line,) = told.stderr.splitlines()
    assert line.startswith("kafka-trial: ") and sentence in line
