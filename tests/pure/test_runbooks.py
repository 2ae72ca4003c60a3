"""A page for every alert, for whoever is woken: complete, and nothing on it leads nowhere."""

import re
from pathlib import Path

import pytest
import typer.main

from dashboards.alerts.every import ALERTS
from dashboards.alerts.prometheus_rules import RUNBOOKS, rule_file
from dashboards.boards.brokers import PHASES
from dashboards.boards.every import BOARDS
from kafka_trial.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / RUNBOOKS).glob("*"))
EVERY = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
HEADINGS = ["What it means", "What to look at", "What to do"]
ELSEWHERE = {"Status → Targets"}  # Prometheus' own pages
LINK = re.compile(r"\[[^\]]+\]\(([^)]+)\)")
ITALICS = re.compile(r"(?<!\*)\*([^*\n]+)\*(?!\*)")
OUR_COMMAND = re.compile(r"`kafka-trial ([a-z-]+)(?: ([a-z-]+))?")


def sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", page.read_text(), flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_alert_has_a_page_and_no_page_is_without_its_alert():
    assert [page.name for page in PAGES] == sorted(alert.runbook for alert in ALERTS)


@EVERY
def test_a_page_says_what_it_means_what_to_look_at_and_what_to_do(page):
    assert page.read_text().splitlines()[0] == f"# {page.stem}"
    assert list(sections(page)) == HEADINGS
    assert all(len(text) > 20 for text in sections(page).values())


@EVERY
def test_what_to_look_at_and_what_to_do_are_lists(page):
    for heading in HEADINGS[1:]:
        assert all(line.startswith(("- ", "  ")) for line in sections(page)[heading].splitlines()), heading


@EVERY
def test_every_link_leads_to_a_page(page):
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).is_file()] == []


def test_there_are_links_to_follow():
    assert sum(len(LINK.findall(page.read_text())) for page in PAGES) > 5


@EVERY
def test_every_dashboard_and_panel_that_is_named_is_there(page):
    boards = {board.title.removeprefix("Kafka: ").lower() for board in BOARDS}
    panels = {panel.title.lower() for board in BOARDS for panel in board.panels} | set(PHASES.values())

    unknown = [
        one
        for one in ITALICS.findall(page.read_text())
        if one.lower() not in boards | panels | set(map(str.lower, ELSEWHERE))
    ]
    assert unknown == []


@EVERY
def test_a_page_says_where_to_look_with_our_own_means_or_where_else(page):
    """A dashboard, a command, or the page of a neighbour."""
    text = sections(page)["What to look at"]
    assert ITALICS.search(text) or "`" in text or LINK.search(text)


@EVERY
def test_every_command_of_ours_that_is_named_is_there(page):
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for first, second in OUR_COMMAND.findall(page.read_text()):
        assert first in commands, first
        if second and hasattr(commands[first], "commands"):
            assert second in commands[first].commands, f"{first} {second}"


def test_every_rule_leads_to_its_page():
    for group in rule_file()["groups"]:
        for rule in group["rules"]:
            assert (ROOT / rule["annotations"]["runbook_url"]).is_file(), rule["alert"]


def test_the_address_of_the_pages_can_be_another():
    urls = [
        rule["annotations"]["runbook_url"]
        for group in rule_file(runbooks="https://wiki.example/kafka/")["groups"]
        for rule in group["rules"]
    ]

    assert urls == [f"https://wiki.example/kafka/{alert.name}.md" for alert in ALERTS]
