"""The nightly site in a real browser: it complains of nothing, calls nobody, and fits a desk and a telephone."""

from pathlib import Path

import pytest

from spark_reports.site.draw import draw
from tests.browser.chromium import look, picture, require_browser, told
from tests.browser.test_report import HOSTILE, OVERFLOW, first_pixel
from tests.pure.nightly_example import example_report

DARK = "--blink-settings=preferredColorScheme=0"
WIDTHS = (1200, 390)
LONG = "a-scenario-with-a-name-that-somebody-generated." * 5
LINKED = "test_what_a_machine_that_stood_still_misses_is_open_and_not_failed"  # underscores are letters: no place to break
KINDS = ("index", "scenario", "run")
EVERYTHING = f"(document.querySelectorAll('details').forEach((one) => one.open = true), {OVERFLOW})"
# Texts of one picture that touch, or leave it; what is not shown at this width has no size.
COLLISIONS = """(() => {
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  const found = [];
  for (const chart of document.querySelectorAll("svg")) {
    const frame = chart.getBoundingClientRect();
    const boxes = [...chart.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const seen = boxes.filter(([, box]) => box.width > 0);
    seen.forEach(([words, box], number) => {
      if (box.left < frame.left - 1.5 || box.right > frame.right + 1.5) found.push(words + " leaves its picture");
      for (const [other, there] of seen.slice(number + 1)) {
        const wide = Math.min(box.right, there.right) - Math.max(box.left, there.left);
        const high = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
        if (wide > 0.5 && high > 2.5) found.push(words + " touches " + other);
      }
    });
  }
  return found.length + " " + found.slice(0, 5).join("; ");
})()"""

# Cells of a table whose words reach into the next one.
SPILT = """(() => {
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  const found = [...document.querySelectorAll("td, th")].filter((one) => one.scrollWidth > one.clientWidth + 1);
  return found.length + " " + found.slice(0, 5).map((one) => one.textContent.slice(0, 60)).join("; ");
})()"""


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    require_browser()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nightly")
    draw(example_report(), folder)
    return folder


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    report = example_report(
        names=(LONG, LINKED, "storm"), versions=("4.3.1", "a.version." * 20), nights=3, sentence=LONG * 20
    )
    runs = [one.model_copy(update={"folder": f"/{LONG}/{LONG}", "config": LONG, "run_id": LONG}) for one in report.runs]
    draw(report.model_copy(update={"headline": LONG, "runs": runs}), folder)
    return folder


def page(site: Path, kind: str) -> Path:
    """A run that has something to say: the first that a storm was too much for."""
    if kind == "index":
        return site / "index.html"
    if kind == "scenario":
        return sorted((site / "scenarios").iterdir())[-1]
    return next(one for one in sorted((site / "runs").iterdir(), reverse=True) if "never recovered" in one.read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_complains_of_nothing_and_calls_nobody(site: Path, tmp_path: Path, kind: str):
    seen = look(page(site, kind), tmp_path)

    assert (seen.complaints, seen.called) == ([], [])
    assert "storm" in seen.dom and "report.json" in seen.dom


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_sticks_out_of_the_window(site: Path, tmp_path: Path, kind: str, width: int):
    assert told(page(site, kind), tmp_path, f"innerWidth + ' ' + {EVERYTHING}", width=width) == f"{width} 0"


@pytest.mark.parametrize("kind", KINDS)
def test_long_names_do_not_stick_out_either(long: Path, tmp_path: Path, kind: str):
    chosen = page(long, kind) if kind != "run" else sorted((long / "runs").iterdir())[0]

    assert told(chosen, tmp_path, EVERYTHING, width=390) == "0"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["index", "scenario"])
def test_long_names_stay_in_their_cells(long: Path, tmp_path: Path, kind: str, width: int):
    assert told(page(long, kind), tmp_path, SPILT, width=width) == "0 "


def test_something_that_sticks_out_would_be_noticed(site: Path, tmp_path: Path):
    wide = tmp_path / "wide.html"
    wide.write_text(page(site, "index").read_text().replace("</main>", '<hr width="3000" /></main>'))

    assert int(told(wide, tmp_path, EVERYTHING, width=390)) > 1000


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["index", "scenario"])
def test_no_words_in_a_picture_touch_others_or_leave_it(site: Path, tmp_path: Path, kind: str, width: int):
    assert told(page(site, kind), tmp_path, COLLISIONS, width=width) == "0 "


def test_words_that_touch_would_be_noticed(site: Path, tmp_path: Path):
    crowded = tmp_path / "crowded.html"
    twice = '<svg viewBox="0 0 300 20"><text x="5" y="12">one</text><text x="12" y="12">two</text></svg></main>'
    crowded.write_text(page(site, "index").read_text().replace("</main>", twice))

    assert told(crowded, tmp_path, COLLISIONS, width=390) == "1 one touches two"


def test_a_telephone_gets_its_own_drawings(site: Path, tmp_path: Path):
    count = """["wide", "narrow"].map(
      (look) => [...document.querySelectorAll("svg." + look)].filter((one) => one.clientWidth).length)"""
    drawn = page(site, "scenario").read_text().count('class="chart wide"')

    assert drawn == 4 + 1 + 1  # trends, distribution, timeline
    assert told(page(site, "scenario"), tmp_path / "a", count, width=1200) == f"{drawn},0"
    assert told(page(site, "scenario"), tmp_path / "b", count, width=390) == f"0,{drawn}"


def test_words_of_a_picture_are_large_enough_to_read(site: Path, tmp_path: Path):
    smallest = """Math.min(...[...document.querySelectorAll("svg.chart")].filter((one) => one.clientWidth)
      .map((one) => 11 * one.clientWidth / one.viewBox.baseVal.width))"""

    for number, width in enumerate((*WIDTHS, 800, 1000)):
        assert float(told(page(site, "scenario"), tmp_path / str(number), smallest, width=width)) > 9


def test_names_do_nothing_in_a_browser(tmp_path: Path):
    draw(example_report(names=(HOSTILE,), versions=(HOSTILE,), nights=2, sentence=HOSTILE), tmp_path / "site")

    for number, kind in enumerate(("index.html", "scenarios", "runs")):
        chosen = tmp_path / "site" / kind
        seen = look(chosen if chosen.is_file() else next(chosen.iterdir()), tmp_path / str(number))
        assert (seen.complaints, seen.called) == ([], []) and "<title>taken" not in seen.dom


def test_even_a_script_that_got_in_would_not_run(site: Path, tmp_path: Path):
    """The policy is the second lock: break the first by hand, and nothing happens but a complaint."""
    broken = tmp_path / "broken.html"
    broken.write_text(page(site, "index").read_text().replace("</main>", f"{HOSTILE}</main>"))
    seen = look(broken, tmp_path)

    assert seen.called == [] and "<title>taken" not in seen.dom
    assert any("Content Security Policy" in line for line in seen.complaints)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_dark_where_the_reader_wants_it_dark(site: Path, tmp_path: Path, kind: str):
    light = picture(page(site, kind), tmp_path / "light.png", tmp_path / "a", size="1200,900")
    dark = picture(page(site, kind), tmp_path / "dark.png", tmp_path / "b", DARK, size="1200,900")

    assert first_pixel(light) > 200 > 60 > first_pixel(dark)
