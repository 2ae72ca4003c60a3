"""A dashboard with a panel of every kind, and made-up answers to it: for the preview's tests, no Prometheus needed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.preview.asking import question
from dashboards.preview.values import Answer, Asked, Line, Region, Scene, Told
from dashboards.preview.window import Window
from dashboards.reading import Panel, dashboard_of

START = 1_794_934_800
WINDOW = Window(START, START + 3600, 10)
NOW = float(START + 3600)
Lines = Sequence[tuple[Mapping[str, str], Sequence[float | None]]]


def answer(*lines: tuple[Mapping[str, str], Sequence[float | None]]) -> Answer:
    return Answer(tuple(Line(labels, tuple(values)) for labels, values in lines))


def course(height: float = 10.0, *, gap: tuple[int, int] | None = None) -> list[float | None]:
    values = [height * (1.2 + math.sin(place / 30)) for place in range(WINDOW.points)]
    return [None if gap and gap[0] <= place < gap[1] else value for place, value in enumerate(values)]


def panel(kind: str = "timeseries", *expressions: str, **raw: Any) -> Panel:
    """As Grafana's file has it; `defaults` and `overrides` go into its fieldConfig."""
    config = {"defaults": raw.pop("defaults", {}), "overrides": raw.pop("overrides", [])}
    legends = raw.pop("legends", ["__auto"] * len(expressions))
    targets = [
        {"refId": chr(65 + place), "expr": expression, "legendFormat": legend}
        for place, (expression, legend) in enumerate(zip(expressions, legends, strict=True))
    ]
    document = {"title": kind, "type": kind, "fieldConfig": config, "targets": targets} | raw
    return dashboard_of({"title": "x", "panels": [document]}).panels[0]


def scene(one: Panel, *answers: Answer, regions: tuple[Region, ...] = ()) -> Scene:
    asked = tuple(
        Asked(target, question(one, target, {}, WINDOW), given) for target, given in zip(one.queries, answers, strict=True)
    )
    return Scene(one, asked, WINDOW, NOW, {}, regions)


def told(*scenes: Scene, title: str = "Everything", description: str = "", regions: tuple[Region, ...] = ()) -> Told:
    """A dashboard of these panels, two beside each other."""
    panels = [
        {**one.panel.raw, "gridPos": {"x": place % 2 * 12, "y": place // 2 * 8, "w": 12, "h": 8}}
        for place, one in enumerate(scenes)
    ]
    rows = [{"type": "row", "title": "A row"}, *panels]
    board = dashboard_of({"title": title, "description": description, "panels": rows})
    asked = {place: one.asked for place, one in enumerate(scenes)}
    return Told(board, WINDOW, NOW, asked, {}, regions)


def everything(words: str = "orders") -> Told:
    """`words` is in every place to which a metric, or the one who made the dashboard, can bring a text."""
    states = {
        "type": "value",
        "options": {"0": {"text": "down", "color": "red"}, "1": {"text": f"up {words}", "color": "green"}},
    }
    steps = {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 11}]}
    labels = [{"topic": words, "node": str(node)} for node in (1, 2, 10)]
    several = answer(*((one, course(10 + place, gap=(100, 140))) for place, one in enumerate(labels)))
    now = answer(*((one, [value]) for one, value in zip(labels, (3.0, 12.0, 2048.0), strict=True)))
    up = [1.0] * 200 + [0.0] * 60 + [1.0] * (WINDOW.points - 260)
    dashed = {"custom": {"thresholdsStyle": {"mode": "dashed"}}, "thresholds": steps, "unit": "bytes"}
    more: dict[str, Any] = {"title": words, "description": words}
    scenes = [
        scene(panel("timeseries", "a", defaults=dashed, legends=["{{topic}} {{node}}"], **more), several),
        scene(
            panel("timeseries", "a", defaults={"custom": {"stacking": {"mode": "normal"}}, "unit": words}, **more), several
        ),
        scene(panel("stat", "a", defaults={"thresholds": steps}, options={"colorMode": "background"}, **more), now),
        scene(panel("state-timeline", "a", defaults={"mappings": [states]}, **more), answer((labels[0], up))),
        scene(panel("table", "a", "b", **more), now, now),
        scene(panel("gauge", "a", defaults={"min": 0, "max": 100, "thresholds": steps}, **more), now),
        scene(panel("bargauge", "a", **more), now),
        scene(panel("piechart", "a", **more), now),
        scene(panel("text", options={"content": words}, **more)),
        scene(panel("heatmap", "a", **more), several),
        scene(panel("timeseries", words, defaults={"noValue": words}, **more), Answer()),
        scene(panel("timeseries", words, **more), Answer()),
        scene(panel("timeseries", words, **more), Answer(trouble=words)),
    ]
    happened = (
        Region(int((START + 900) * 1000), int((START + 1500) * 1000), words),
        Region(int((START + 1800) * 1000), None, words),
    )
    return told(*scenes, title=words, description=words, regions=happened)
