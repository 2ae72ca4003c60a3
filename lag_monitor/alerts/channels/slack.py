"""A Slack channel, by an incoming webhook. Its address is the secret: whoever has it may post."""

import json
from dataclasses import dataclass, field
from typing import Any

from lag_monitor.alerts.channels.posting import Access, checked_url, post
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.wording import facts, headline, partitions
from lag_monitor.verdict import Gravity

COLOURS = {Gravity.ERROR: "#d72b3f", Gravity.WARNING: "#e8a723"}  # the rest: grey
CLOSED, GREY = "#2e9e6b", "#8a8f98"
LONGEST = 1_900  # Slack takes 2,000 characters in a field, and refuses the whole message above


@dataclass(frozen=True, slots=True)
class Slack:
    name: str
    url: str = field(repr=False)
    access: Access = field(default_factory=Access)

    @property
    def refresh(self) -> float:
        return 0.0

    def check(self) -> None:
        what = f"the Slack channel {self.name}"
        self.access.check(what)
        checked_url(what, self.url)

    def send(self, notice: Notice) -> None:
        post(self.url, json.dumps(message(notice)).encode(), self.access)


def message(notice: Notice) -> dict[str, Any]:
    colour = CLOSED if notice.kind is Kind.CLOSE else COLOURS.get(notice.gravity, GREY)
    fields = [_mrkdwn(f"*{name}*\n{_escaped(value)}") for name, value in facts(notice)]
    blocks: list[dict[str, Any]] = [{"type": "section", "fields": fields}]
    worst = "\n".join(f"• {_escaped(line)}" for line in partitions(notice))
    if worst:
        blocks.append({"type": "section", "text": _mrkdwn(worst)})
    text = _escaped(headline(notice))
    blocks.insert(0, {"type": "section", "text": _mrkdwn(f"*{text}*")})
    # `text` is what a telephone shows. The blocks stand inside the attachment, for only there have they a colour.
    return {"text": text, "attachments": [{"color": colour, "fallback": text, "blocks": blocks}]}


def _mrkdwn(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"}


def _escaped(text: str) -> str:
    """Slack's own three. Without it, a group named <!channel> would wake everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
