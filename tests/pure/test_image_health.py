"""The image's health check finds its daemon by itself, and believes nothing but an answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from compose.images.healthy import PORTS, answers, main, page
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.exporter_config import ExporterConfig
from kafka_trial.daemon.lag_config import LagConfig
from kafka_trial.daemon.probe_config import ProbeConfig

PYTHON = ["/opt/kafka-trial/bin/python", "/opt/kafka-trial/bin/kafka-trial"]


def test_a_daemon_whose_file_is_silent_listens_where_it_always_does(tmp_path: Path):
    (tmp_path / "x.toml").write_text("")
    models = {"exporter": ExporterConfig, "probe": ProbeConfig, "audit": AuditConfig, "lag-monitor": LagConfig}

    assert {name: f"127.0.0.1:{port}" for name, port in PORTS.items()} == {
        name: model.model_fields["listen"].default for name, model in models.items()
    }
    assert page([*PYTHON, "probe", "--config", str(tmp_path / "x.toml"), ""]) == "http://127.0.0.1:9309/-/healthy"


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ('listen = "0.0.0.0:1234"', "http://127.0.0.1:1234/-/healthy"),
        ('listen = "[::]:1234"', "http://127.0.0.1:1234/-/healthy"),
        ('listen = "10.1.2.3:1234"', "http://10.1.2.3:1234/-/healthy"),
        ('[tls]\ncert_file = "a"\nkey_file = "b"', "https://127.0.0.1:9308/-/healthy"),
    ],
)
def test_it_asks_where_the_file_says(tmp_path: Path, told: str, asked: str):
    (tmp_path / "x.toml").write_text(told)

    assert page(["/sbin/docker-init", "--", *PYTHON, "exporter", f"--config={tmp_path / 'x.toml'}"]) == asked


@pytest.mark.parametrize("words", [["run", "kill-leader"], ["audit", "report", "--bootstrap", "kafka:9092"], []])
def test_a_command_that_ends_by_itself_is_not_asked(words: list[str]):
    assert page([*PYTHON, *words]) is None


@contextmanager
def server(status: int, tls: Any = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/-/healthy" else 404)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        running.socket = tls.wrap_socket(running.socket, server_side=True)
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{running.server_address[1]}/-/healthy"
    finally:
        running.shutdown()
        running.server_close()


def test_an_answer_is_health(capsys: pytest.CaptureFixture[str]):
    with server(200) as address:
        assert main([address]) == 0

    assert capsys.readouterr().out == "well\n"


def test_over_tls_too_whoever_signed_it():
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with server(200, context) as address:
        assert answers(address) == ""


def test_another_answer_is_none(capsys: pytest.CaptureFixture[str]):
    with server(503) as address:
        assert main([address]) == 1

    assert capsys.readouterr().out == f"{address} answers with 503\n"


def test_no_answer_is_told(capsys: pytest.CaptureFixture[str]):
    with server(200) as address:
        pass  # and gone

    assert main([address]) == 1
    assert capsys.readouterr().out.startswith(f"{address} does not answer: ")
