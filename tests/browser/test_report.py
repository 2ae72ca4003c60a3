"""The report in a real browser: it shows its facts, complains of nothing, calls nobody, and fits its window."""

import struct
import zlib
from pathlib import Path

import pytest

from chaos.report.html import write_report
from tests.browser.chromium import look, picture, require_browser, told
from tests.pure.run_folders import Run, write_run

WIDTHS = (1280, 390)
HOSTILE = "<img src=http://127.0.0.1:9/x onerror=alert(1)><script>document.title='taken'</script>"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    require_browser()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_run(tmp_path_factory.mktemp("runs")))


def test_the_page_shows_its_facts_and_complains_of_nothing(page: Path, tmp_path: Path):
    seen = look(page, tmp_path)

    for fact in ("kill-leader", "FAIL", "lost-write", "orders-0 @", "broker 1 is killed (SIGKILL)", 'class="scripted"'):
        assert fact in seen.dom
    assert seen.complaints == []


def test_the_page_calls_nobody(page: Path, tmp_path: Path):
    assert look(page, tmp_path).called == []


def test_a_page_that_calls_somebody_would_be_noticed(tmp_path: Path):
    loud = tmp_path / "loud.html"
    loud.write_text('<img src="http://127.0.0.1:9/pixel.png"><script>undefinedFunction()</script>')
    seen = look(loud, tmp_path)

    assert seen.called == ["http://127.0.0.1:9/pixel.png"]
    assert any("undefinedFunction" in line for line in seen.complaints)


def test_text_of_a_run_does_nothing_in_a_browser(tmp_path: Path):
    run = Run(client=HOSTILE, manifest={"promise": HOSTILE}, verdict={"reasons": [HOSTILE]})
    seen = look(write_report(write_run(tmp_path / "runs", run)), tmp_path)

    assert seen.called == [] and seen.complaints == []
    assert "<title>FAIL: kill-leader</title>" in seen.dom


def test_even_a_script_that_got_in_would_not_run(page: Path, tmp_path: Path):
    """The policy is the second lock: break the first by hand, and nothing happens but a complaint."""
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text().replace("</main>", f"{HOSTILE}</main>"))
    seen = look(broken, tmp_path)

    assert seen.called == [] and "<title>FAIL: kill-leader</title>" in seen.dom
    assert any("Content Security Policy" in line for line in seen.complaints)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_of_the_window(page: Path, tmp_path: Path, width: int):
    everything_open = f"(document.querySelectorAll('details').forEach((one) => one.open = true), {OVERFLOW})"

    assert told(page, tmp_path, f"innerWidth + ' ' + {everything_open}", width=width) == f"{width} 0"


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_do_not_stick_out_either(tmp_path: Path, width: int):
    long = "a-topic-with-a-name-as-long-as-kafka-allows." * 5
    folder = write_run(tmp_path / "runs", Run(topic=long[:249], client="producer-" + "x" * 80, scenario="s" * 90, rate=20))
    everything_open = f"(document.querySelectorAll('details').forEach((one) => one.open = true), {OVERFLOW})"

    assert told(write_report(folder), tmp_path, everything_open, width=width) == "0"


def test_something_that_sticks_out_would_be_noticed(page: Path, tmp_path: Path):
    wide = tmp_path / "wide.html"
    wide.write_text(page.read_text().replace("</main>", '<hr width="3000"></main>'))

    assert int(told(wide, tmp_path, OVERFLOW, width=390)) > 1000


def test_a_telephone_gets_its_own_drawings(page: Path, tmp_path: Path):
    count = """["wide", "narrow"].map(
      (look) => [...document.querySelectorAll("svg." + look)].filter((one) => one.clientWidth).length)"""

    assert told(page, tmp_path / "a", count, width=1280) == "7,0"
    assert told(page, tmp_path / "b", count, width=390) == "0,7"


def test_pointing_at_a_chart_reads_it_out_and_leaving_restores_the_note(page: Path, tmp_path: Path):
    script = """(() => {
      const chart = document.querySelector("#rates svg.wide"), box = chart.getBoundingClientRect();
      const output = document.querySelector("#rates output"), note = output.textContent;
      const scale = box.width / chart.viewBox.baseVal.width;
      const [left, right] = [chart.dataset.left * scale, chart.dataset.right * scale];
      const x = box.left + left + (right - left) * 8 / Number(chart.dataset.seconds);
      chart.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: box.top + 5 }));
      const said = output.textContent + " & " + document.querySelector("#leaders output").textContent;
      chart.dispatchEvent(new PointerEvent("pointerleave"));
      return said + " & " + (output.textContent === note);
    })()"""
    rates, leaders, restored = told(page, tmp_path, script).split(" &amp; ")

    assert rates.startswith("8.00 s") and "acknowledged 240/s" in rates  # two of three partitions at 120 a second
    assert "orders-0 broker 1" in leaders and restored == "true"


def test_a_chart_can_be_read_with_the_keyboard(page: Path, tmp_path: Path):
    script = """(() => {
      const chart = document.querySelector("#latency svg.wide"), output = document.querySelector("#latency output");
      const press = (key, shiftKey = false) => chart.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey }));
      chart.focus();
      const said = ["Home", "ArrowRight", "End"].map((key) => (press(key), output.textContent.split(" ")[0]));
      press("Escape");
      return [...said, document.activeElement === chart, output.textContent.includes("logarithmic")];
    })()"""
    first, second, last, focused, restored = told(page, tmp_path, script).split(",")

    assert float(first) == 0 < float(second) < 1 and float(last) > 22
    assert (focused, restored) == ("true", "true")


def test_findings_can_be_filtered_by_name(page: Path, tmp_path: Path):
    script = """["show-all", "show-1", "show-2"].map((name) => {
      document.getElementById(name).click();
      const rows = [...document.querySelectorAll(".filter tbody tr")].filter((row) => row.offsetHeight);
      return rows.map((row) => row.cells[0].textContent.trim());
    }).join("; ")"""

    assert told(page, tmp_path, script) == "inconsistent-offsets,lost-write; inconsistent-offsets; lost-write"


def test_it_is_dark_where_the_reader_wants_it_dark(page: Path, tmp_path: Path):
    light = picture(page, tmp_path / "light.png", tmp_path / "a", size="800,600")
    dark = picture(page, tmp_path / "dark.png", tmp_path / "b", "--blink-settings=preferredColorScheme=0", size="800,600")

    assert first_pixel(light) > 200 > 60 > first_pixel(dark)


def first_pixel(png: Path) -> int:
    """How bright the corner is. The first row has nothing before it, so its first pixel is stored as it is."""
    data = png.read_bytes()
    place, packed = 8, b""
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        packed += data[place + 8 : place + 8 + length] if data[place + 4 : place + 8] == b"IDAT" else b""
        place += length + 12
    return max(zlib.decompress(packed)[1:4])
