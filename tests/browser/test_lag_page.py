"""The lag monitor's pages in a real browser, from a real server: what is grave comes first, and nothing sticks out."""

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from lag_monitor.verdict import Status
from tests.browser.chromium import Look, look, picture, require_browser, told
from tests.browser.test_report import HOSTILE, OVERFLOW, first_pixel
from tests.pure.lag_views import NOW, SETTINGS, Views, group, incident, many, mixed, partition, state

WIDTHS = (1280, 390)
DARK = "--blink-settings=preferredColorScheme=0"
LONG = "a-group-with-a-name-as-long-as-kafka-allows." * 5
BILLING = "/clusters/prod/groups/billing"


@dataclass(frozen=True)
class Address:
    """What a browser is sent to, in the place of a file."""

    text: str

    def as_uri(self) -> str:
        return self.text


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    require_browser()


@contextmanager
def served(views: Views, incidents: Sequence[Mapping[str, object]] = (), broken: str = "") -> Iterator[str]:
    """On a port of its own until the end. `broken` is put into every page, as if it had slipped past the escaping."""
    import uvicorn
    from starlette.applications import Starlette

    from lag_monitor.pages.routes import routes

    application = Starlette(routes=routes(views, state(), SETTINGS, lambda: True, lambda: incidents, "", clock=lambda: NOW))
    if broken:
        application = _breaking(application, broken)  # type: ignore[assignment]
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def _breaking(application, text):
    async def wrapped(scope, receive, send):
        async def changed(message):
            if message["type"] == "http.response.start":
                message["headers"] = [pair for pair in message["headers"] if pair[0] != b"content-length"]
            else:
                message["body"] = message["body"].replace(b"</main>", text.encode() + b"</main>")
            await send(message)

        await application(scope, receive, changed)

    return wrapped


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(mixed(), [incident()]) as address:
        yield address


@pytest.fixture(scope="module")
def crowd() -> Iterator[str]:
    with served(many()) as address:
        yield address


def visit(address: str, scratch: Path, *options: str) -> Look:
    return look(Address(address), scratch, *options)  # type: ignore[arg-type]


def kept(address: str, folder: Path) -> Path:
    """The page as a file, which a test may ask questions of: its policy came in a header and is left behind."""
    file = folder / "kept.html"
    file.write_text(httpx.get(address).text)
    return file


@pytest.mark.parametrize("path", ["/", BILLING, "/clusters/prod/groups/nobody"])
def test_a_page_complains_of_nothing_and_calls_nobody(site: str, tmp_path: Path, path: str):
    seen = visit(site + path, tmp_path)

    assert (seen.complaints, seen.called) == ([], [])
    assert "Consumer lag" in seen.dom


def test_the_first_page_shows_the_gravest_first(site: str, tmp_path: Path):
    seen = visit(site + "/", tmp_path)

    assert re.findall(r'<a href="/clusters/[^"]*"><bdi>([^<]+)</bdi></a><small>', seen.dom) == [
        "invoices-archive", "billing", "search-indexer", "telemetry", "old-report", "audit-eos", "checkout", "firmware",
    ]  # fmt: skip
    assert "<title>edge cannot be reached · lag</title>" in seen.dom
    for fact in ("refused the connection", "Open incidents", "Burrow: ERR", "9 min 5 s", "1\u202f204\u202f511"):
        assert fact in seen.dom


def test_a_name_with_a_slash_is_one_name_to_a_real_server_too():
    views = Views({"prod": [group("a/b"), group("a%2Fb")]})
    with served(views) as site:
        for sent, name in (("a%2Fb", "a/b"), ("a%252Fb", "a%2Fb")):
            assert httpx.get(f"{site}/api/clusters/prod/groups/{sent}").json()["group"] == name
            told = httpx.get(f"{site}/v3/kafka/local/consumer/{sent}/status").json()
            assert (told["status"]["group"], told["request"]["url"]) == (name, f"/v3/kafka/local/consumer/{name}/status")


def test_five_thousand_groups_are_shown_in_good_time(crowd: str, tmp_path: Path):
    httpx.get(crowd + "/")
    began = time.monotonic()
    page = httpx.get(crowd + "/")
    took = time.monotonic() - began
    seen = visit(crowd + "/", tmp_path)

    names = re.findall(r"<bdi>(service-\d+)</bdi>", seen.dom)
    assert names[:4] == ["service-00017", "service-02300", "service-04999", "service-00001"]
    assert len(names) == 100 and "of 5\u202f000 groups" in seen.dom
    assert "<title>data loss: service-00017 and 12 more · lag</title>" in seen.dom
    assert took < 2 and len(page.content) < 200_000


def test_a_group_shows_a_line_for_each_partition_that_was_seen(site: str, tmp_path: Path):
    script = """[...document.querySelectorAll("td.spark")].map((cell) => {
      const line = cell.querySelector("path.line");
      return line ? Math.round(line.getBoundingClientRect().width) : "-";
    }).join(" ")"""

    assert told(kept(site + BILLING, tmp_path), tmp_path, script) == "116 116 0 116 116 -"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", ["/", BILLING])
def test_nothing_sticks_out_of_the_window(site: str, tmp_path: Path, path: str, width: int):
    everything_open = f"(document.querySelectorAll('details').forEach((one) => one.open = true), {OVERFLOW})"
    page = kept(site + path, tmp_path)

    assert told(page, tmp_path, f"innerWidth + ' ' + {everything_open}", width=width) == f"{width} 0"


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_do_not_stick_out_either(tmp_path: Path, width: int):
    one = partition(
        12_345, Status.STALLED, topic=LONG[:249], owner=LONG, client_id=LONG, evidence={LONG: LONG}, lag=10**15, end=10**18
    )
    long = group(LONG, Status.STALLED, reason=LONG * 2, cluster=LONG, lag=10**15, seconds=1e9, partitions=(one,))
    with served(Views({LONG: [long], "b": []}), [incident(cluster=LONG, group=LONG, reason=LONG)]) as site:
        for number, path in enumerate(("/", f"/clusters/{LONG}/groups/{LONG}")):
            (folder := tmp_path / str(number)).mkdir()
            assert told(kept(site + path, folder), folder, OVERFLOW, width=width) == "0"


def test_something_that_sticks_out_would_be_noticed(site: str, tmp_path: Path):
    page = kept(site + "/", tmp_path)
    page.write_text(page.read_text().replace("</main>", '<hr width="3000"></main>'))

    assert int(told(page, tmp_path, OVERFLOW, width=390)) > 1000


def test_names_do_nothing_in_a_browser(tmp_path: Path):
    hostile = group(
        HOSTILE, Status.STALLED, reason=HOSTILE, cluster=HOSTILE, partitions=(partition(0, topic=HOSTILE, owner=HOSTILE),)
    )
    with served(Views({HOSTILE: [hostile]}), [incident(cluster=HOSTILE, group=HOSTILE, reason=HOSTILE)]) as site:
        (href,) = set(re.findall(r'href="(/clusters/[^"]*)"', httpx.get(site + "/").text))
        for number, path in enumerate(("/", href)):
            (folder := tmp_path / str(number)).mkdir()
            seen = visit(site + path, folder)
            assert (seen.complaints, seen.called) == ([], [])
            assert "<title>stalled: &lt;img" in seen.dom


def test_even_a_script_that_got_in_would_not_run(tmp_path: Path):
    """The policy is the second lock: break the first by hand, and nothing happens but a complaint."""
    with served(replace(mixed(), summaries={}), broken=HOSTILE) as site:
        seen = visit(site + "/", tmp_path)

    assert seen.called == [] and "<title>data loss: invoices-archive" in seen.dom
    assert any("Content Security Policy" in line for line in seen.complaints)


def test_a_filter_is_a_plain_form(crowd: str, tmp_path: Path):
    seen = visit(crowd + "/?q=SERVICE-000&status=attention", tmp_path)

    assert re.findall(r"<bdi>(service-\d+)</bdi>", seen.dom) == ["service-00017", "service-00001"]
    assert 'value="SERVICE-000"' in seen.dom and seen.complaints == []


def test_it_is_dark_where_the_reader_wants_it_dark(site: str, tmp_path: Path):
    page = kept(site + "/", tmp_path)
    light = picture(page, tmp_path / "light.png", tmp_path / "a", size="800,600")
    dark = picture(page, tmp_path / "dark.png", tmp_path / "b", DARK, size="800,600")

    assert first_pixel(light) > 200 > 60 > first_pixel(dark)
