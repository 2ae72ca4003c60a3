"""`kafka-trial dashboards preview` against a real Prometheus that scrapes made-up metrics, and against everything wrong."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafka_trial.cli.dashboards.preview import preview
from kernel.waiting import wait_until
from tests.cluster.daemons import Prometheus, free_port, prometheus
from tests.pure.commands import ran
from tests.pure.run_folders import Run, write_run

HOSTILE = "<img src=x onerror=alert(1)>"
METRICS = f"""# TYPE made_up_bytes gauge
made_up_bytes{{cluster="main",node="1"}} 1048576
made_up_bytes{{cluster="main",node="2"}} 4781506
# TYPE made_up_total counter
made_up_total{{cluster="main"}} COUNT
# TYPE made_up_state gauge
made_up_state{{cluster="main",topic="{HOSTILE}"}} 1
"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = METRICS.replace("COUNT", str(int(time.time() * 100))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    page = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    try:
        with prometheus(tmp_path_factory.mktemp("prometheus"), [f"127.0.0.1:{page.server_port}"]) as running:
            older = "rate(made_up_total[1m] offset 3s)"  # as old as the last point of any line that is drawn
            wait_until(lambda: running.query(older), bool, what="a rate", timeout=30)
            yield running
    finally:
        page.shutdown()
        page.server_close()


def target(expression: str, **more: object) -> dict[str, object]:
    return {"refId": "A", "expr": expression, "legendFormat": "__auto", **more}


def board(folder: Path, *panels: dict[str, Any], **more: object) -> Path:
    grid = {"gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "board.json"
    file.write_text(json.dumps({"title": "Made up", "uid": "made-up", "panels": [grid | one for one in panels], **more}))
    return file


def bytes_panel(**defaults: object) -> dict[str, Any]:
    config = {"defaults": {"unit": "bytes", **defaults}}
    return {"type": "timeseries", "title": "Bytes", "fieldConfig": config, "targets": [target("made_up_bytes")]}


@pytest.mark.slow
def test_a_dashboard_becomes_a_page_with_the_values_of_prometheus(server: Prometheus, tmp_path: Path):
    file = board(
        tmp_path,
        bytes_panel(),
        {"type": "stat", "title": "Rate", "targets": [target("rate(made_up_total[$__rate_interval])", instant=True)]},
        {"type": "table", "title": "Both", "targets": [target("made_up_bytes"), target("made_up_bytes * 2", refId="B")]},
        {"type": "state-timeline", "title": "State", "targets": [target("made_up_state", legendFormat="{{topic}}")]},
    )
    told = ran(preview, file, "--prometheus", server.address, "--out", tmp_path / "out", "--from", "-1m", "--strict")
    page = (tmp_path / "out" / "made-up.html").read_text()

    assert (told.code, "Made up: 4 panels" in told.out) == (0, True), told.all
    assert page.count("4.56 MiB") >= 2 and "1 MiB" in page  # the axis, and the legend of both
    assert re.search(r"<b>\d+(\.\d+)?</b>", page), "the rate"
    assert '<td class="n">2.1 Mil</td>' in page, "the table"
    assert HOSTILE not in page and "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "Made up" in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("panel", "word"),
    [
        ({"type": "stat", "title": "Gone", "targets": [target("no_such_metric")]}, "empty"),
        ({"type": "stat", "title": "Gone", "targets": [target("sum by ((")]}, "refused"),
        ({"type": "stat", "title": "Gone", "targets": [target("topk($count, up)")]}, "refused"),
    ],
)
def test_strict_fails_where_a_panel_has_no_data_or_no_answer_and_the_page_is_made(
    server: Prometheus, tmp_path: Path, panel: dict[str, Any], word: str
):
    words = (
        board(tmp_path, bytes_panel(), panel),
        "--prometheus",
        server.address,
        "--out",
        tmp_path / "out",
        "--from",
        "-1m",
    )
    lenient, strict, facts = ran(preview, *words), ran(preview, *words, "--strict"), ran(preview, *words, "--json")

    assert (lenient.code, strict.code) == (0, 1) and f"{word}: Gone" in strict.out
    assert json.loads(facts.out)["dashboards"][0][word] == ["Gone"]
    assert "Bytes" in (tmp_path / "out" / "made-up.html").read_text()


@pytest.mark.slow
def test_a_panel_that_says_why_it_is_empty_is_no_failure(server: Prometheus, tmp_path: Path):
    gone = {
        "type": "stat",
        "title": "Gone",
        "targets": [target("no_such")],
        "fieldConfig": {"defaults": {"noValue": "None."}},
    }
    told = ran(preview, board(tmp_path, gone), "--prometheus", server.address, "--out", tmp_path / "out", "--strict")

    assert told.code == 0 and "1 empty, and says why" in told.out


@pytest.mark.slow
def test_a_variable_may_be_given(server: Prometheus, tmp_path: Path):
    one = {"type": "timeseries", "title": "One", "targets": [target('made_up_bytes{node="$node"}')]}
    listed = {"templating": {"list": [{"name": "node", "type": "query", "query": "label_values(node)"}]}}
    words = (board(tmp_path, one, **listed), "--prometheus", server.address, "--out", tmp_path / "out", "--from", "-1m")
    any_node, second = ran(preview, *words), (tmp_path / "out" / "made-up.html").read_text()
    ran(preview, *words, "--var", "node=2")
    only = (tmp_path / "out" / "made-up.html").read_text()

    assert any_node.code == 0 and [page.count('class="line s') for page in (second, only)] == [4, 2]  # each with its key


@pytest.mark.slow
def test_the_faults_of_a_run_are_shaded(server: Prometheus, tmp_path: Path):
    began = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - 120))
    folder = write_run(tmp_path / "runs", Run(started=began))
    words = (board(tmp_path, bytes_panel()), "--prometheus", server.address, "--out", tmp_path / "out", "--from", "-5m")
    told = ran(preview, *words, "--annotations", folder.path)
    page = (tmp_path / "out" / "made-up.html").read_text()
    ran(preview, *words)

    assert told.code == 0 and 'class="fault"' in page and "broker 1 is killed (SIGKILL)" in page
    assert 'class="fault"' not in (tmp_path / "out" / "made-up.html").read_text()


@pytest.mark.slow
def test_all_of_our_own_dashboards_are_drawn_even_where_there_is_no_kafka(server: Prometheus, tmp_path: Path):
    from dashboards.build import dashboards

    told = ran(preview, "--prometheus", server.address, "--out", tmp_path, "--from", "-1m", "--json")
    facts = json.loads(told.out)["dashboards"]

    assert told.code == 0 and len(facts) == len(dashboards()) == len(list(tmp_path.glob("kafka-trial-*.html")))
    assert [one["refused"] for one in facts] == [[]] * len(facts) and all(one["not_drawn"] == [] for one in facts)
    assert ran(preview, "--prometheus", server.address, "--out", tmp_path, "--strict").code == 1


def test_what_cannot_be_used_is_one_sentence_and_exit_code_2(tmp_path: Path):
    nobody = f"http://127.0.0.1:{free_port()}"
    fine, bad = board(tmp_path, bytes_panel()), tmp_path / "bad.json"
    bad.write_text("{")
    (tmp_path / "none").mkdir()
    wrong = {
        "nobody answers": (fine, "--prometheus", nobody),
        "is not a URL": (fine, "--prometheus", "localhost:9090"),
        "not JSON": (bad, "--prometheus", nobody),
        "No such file": (tmp_path / "gone.json", "--prometheus", nobody),
        "holds no dashboard": (tmp_path / "none", "--prometheus", nobody),
        "is no time": (fine, "--from", "yesterday"),
        "is not before": (fine, "--from", "now", "--to", "-1h"),
        "NAME=VALUE": (fine, "--var", "cluster"),
        "manifest.json": (fine, "--annotations", tmp_path),
    }
    for words, given in wrong.items():
        told = ran(preview, *given, "--out", tmp_path / "out")
        assert (told.code, told.err.count("\n")) == (2, 1) and words in told.err, told.all
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_refused(server: Prometheus, tmp_path: Path):
    (tmp_path / "out").write_text("a file")
    told = ran(preview, board(tmp_path, bytes_panel()), "--prometheus", server.address, "--out", tmp_path / "out")

    assert told.code == 2 and "cannot be written" in told.err


@pytest.mark.slow
def test_a_login_in_the_address_is_on_no_page_and_in_no_message(server: Prometheus, tmp_path: Path):
    address = server.address.replace("http://", "http://somebody:hunter2@")
    told = ran(preview, board(tmp_path, bytes_panel()), "--prometheus", address, "--out", tmp_path / "out", "--from", "-1m")

    assert told.code == 0 and "hunter2" not in told.all
    assert not any("hunter2" in page.read_text() for page in (tmp_path / "out").glob("*.html"))
