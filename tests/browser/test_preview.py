"""The preview of dashboards in a real browser: no complaints, no calls, fits a desk and a telephone, has its marks."""

from pathlib import Path

import pytest

from dashboards.preview.page import Source
from dashboards.preview.site import site
from tests.browser.chromium import look, picture, require_browser, told
from tests.browser.test_nightly_site import COLLISIONS, DARK
from tests.browser.test_report import HOSTILE, OVERFLOW, first_pixel
from tests.pure.preview_example import everything

WIDTHS = (1600, 390)
LONG = "a-topic-with-a-name-as-long-as-kafka-allows." * 5
EVERYTHING = f"(document.querySelectorAll('details').forEach((one) => one.open = true), {OVERFLOW})"
# Of every panel that says it is drawn: a mark of its kind that has a size and a colour that is not its ground's.
UNMARKED = """(() => {
  const marks = ".plot .line, .state, .bar, .tile b, .box td, .text";
  return [...document.querySelectorAll(".panel[data-standing=drawn]")].filter((panel) => {
    const found = [...panel.querySelectorAll(marks)].filter((one) => {
      const box = one.getBoundingClientRect();
      const look = getComputedStyle(one);
      const paint = one.matches(".line") ? look.stroke : one.matches(".state, .bar") ? look.fill : look.color;
      return box.width > 2 && box.width < 2000 && box.height >= 0 && !["none", "", "rgba(0, 0, 0, 0)"].includes(paint);
    });
    return !found.length;
  }).map((panel) => panel.dataset.kind).join(" ");
})()"""
PLOTS = """[...document.querySelectorAll(".chart > .plot")].map((one) => one.getBoundingClientRect())
  .filter((box) => box.width < 150 || box.height < 100 || box.height > 700).length"""
TIP = """(() => {
  const plot = document.querySelector(".chart > .plot");
  const box = plot.getBoundingClientRect();
  const at = { clientX: box.left + box.width / 2, clientY: box.top + 5, bubbles: true };
  plot.dispatchEvent(new PointerEvent("pointermove", at));
  const tip = document.querySelector(".tip");
  const place = tip.getBoundingClientRect();
  const inside = place.left >= 0 && place.right <= innerWidth;
  const cursors = document.querySelectorAll(".cursor[visibility=visible]").length;
  const rows = [...tip.querySelectorAll("div")].map((one) => one.innerText.trim());
  const said = [tip.querySelector("time").textContent, ...rows];
  plot.dispatchEvent(new PointerEvent("pointerleave"));
  return [said.join("; ").replaceAll("\\n", " "), inside, cursors, tip.hidden].join(" | ");
})()"""
SWITCH = """(() => {
  const ground = () => getComputedStyle(document.body).backgroundColor;
  const before = ground();
  document.getElementById("light").click();
  const after = ground();
  document.getElementById("light").click();
  return [before, after, ground()].join(" ");
})()"""


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    require_browser()


def drawn(folder: Path, words: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = site([everything(words)], Source("http://localhost:9090", "kafka-trial"))
    for name, text in made.files.items():
        (folder / name).write_text(text)
    return folder / made.pages[0].file


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn(tmp_path_factory.mktemp("preview"), "orders")


@pytest.mark.parametrize("name", ["orders.html", "index.html"])
def test_a_page_complains_of_nothing_and_calls_nobody(page: Path, tmp_path: Path, name: str):
    seen = look(page.with_name(name), tmp_path)

    assert (seen.complaints, seen.called) == ([], []) and "13 panels" in seen.dom


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["orders.html", "index.html"])
def test_nothing_sticks_out_of_the_window(page: Path, tmp_path: Path, name: str, width: int):
    assert told(page.with_name(name), tmp_path, f"innerWidth + ' ' + {EVERYTHING}", width=width) == f"{width} 0"


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_do_not_stick_out_either(tmp_path: Path, width: int):
    assert told(drawn(tmp_path / "long", LONG), tmp_path, EVERYTHING, width=width) == "0"


def test_something_that_sticks_out_would_be_noticed(page: Path, tmp_path: Path):
    wide = tmp_path / "wide.html"
    wide.write_text(page.read_text().replace("</main>", '<hr width="3000" /></main>'))

    assert int(told(wide, tmp_path, EVERYTHING, width=390)) > 1000


@pytest.mark.parametrize("options", [(), (DARK,)])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_panel_that_is_drawn_has_marks_to_see(page: Path, tmp_path: Path, width: int, options: tuple[str, ...]):
    assert told(page, tmp_path, UNMARKED, *options, width=width) == ""


def test_a_panel_without_marks_would_be_noticed(page: Path, tmp_path: Path):
    blank = tmp_path / "blank.html"
    blank.write_text(page.read_text().replace(".line {", ".line { display: none;"))

    assert told(blank, tmp_path, UNMARKED) == "timeseries timeseries"


@pytest.mark.parametrize("width", WIDTHS)
def test_plots_have_room_and_words_of_their_axes_do_not_touch(page: Path, tmp_path: Path, width: int):
    assert told(page, tmp_path / "a", PLOTS, width=width) == "0"
    assert told(page, tmp_path / "b", COLLISIONS.replace('"svg"', '".scale, .times"'), width=width) == "0 "


@pytest.mark.parametrize("width", WIDTHS)
def test_pointing_at_a_plot_tells_the_values_there_and_marks_the_moment_on_all(page: Path, tmp_path: Path, width: int):
    """Half way, where the three lines are 10, 11 and 12 times 1.2 + sin(6), the greatest first, in the panel's unit."""
    said, inside, cursors, hidden = told(page, tmp_path, TIP, width=width).split(" | ")

    assert said == "2026-11-17 17:30:00; orders 10 11 B; orders 2 10.1 B; orders 1 9.21 B"
    assert (inside, cursors, hidden) == ("true", "2", "true")


@pytest.mark.parametrize("name", ["orders.html", "index.html"])
def test_it_is_dark_where_the_reader_wants_it_dark(page: Path, tmp_path: Path, name: str):
    light = picture(page.with_name(name), tmp_path / "light.png", tmp_path / "a", size="1200,900")
    dark = picture(page.with_name(name), tmp_path / "dark.png", tmp_path / "b", DARK, size="1200,900")

    assert first_pixel(light) > 200 > 60 > first_pixel(dark)


def test_a_button_changes_between_light_and_dark_and_back(page: Path, tmp_path: Path):
    before, after, again = told(page, tmp_path, SWITCH).replace(", ", ",").split()

    assert before == again != after


def test_names_do_nothing_in_a_browser(tmp_path: Path):
    first = drawn(tmp_path / "hostile", HOSTILE)
    for number, one in enumerate((first, first.with_name("index.html"))):
        seen = look(one, tmp_path / str(number))
        assert (seen.complaints, seen.called) == ([], []) and "<title>taken" not in seen.dom


def test_even_a_script_that_got_in_would_not_run(page: Path, tmp_path: Path):
    """The policy is the second lock: break the first by hand, and nothing happens but a complaint."""
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text().replace("</main>", f"{HOSTILE}</main>"))
    seen = look(broken, tmp_path)

    assert seen.called == [] and "<title>taken" not in seen.dom
    assert any("Content Security Policy" in line for line in seen.complaints)
