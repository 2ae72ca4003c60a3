"""Writes a report's site into an empty folder: index, a page per scenario and per run, report.json, summary.md."""

from pathlib import Path

from spark_reports.contents import Report
from spark_reports.site.addresses import Addresses, Links
from spark_reports.site.index_page import index_page
from spark_reports.site.markdown import markdown
from spark_reports.site.run_page import run_page
from spark_reports.site.scenario_page import scenario_page
from spark_reports.site.shelves import Shelves


def draw(report: Report, into: Path) -> None:
    addresses, shelves = Addresses(report), Shelves(report)
    inside = Links(addresses, "../")
    for folder in (into, into / "scenarios", into / "runs"):
        folder.mkdir(parents=True, exist_ok=True)
    for scenario in report.scenarios:
        _write(into / str(addresses.scenario(scenario.name)), scenario_page(scenario, shelves, inside))
    for key, run in shelves.runs.items():
        _write(into / str(addresses.run(key)), run_page(run, shelves, inside))
    _write(into / "report.json", report.model_dump_json(indent=1) + "\n")
    _write(into / "summary.md", markdown(report))
    _write(into / "index.html", index_page(shelves, Links(addresses, "")))


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="replace")  # JSON may hold half a letter, a page may not
