"""Whatever stands in a dashboard's file, its panels are drawn or say why not: nobody's file stops the preview."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.preview.panels import KINDS, card
from tests.pure.preview_example import answer, panel, scene

WORDS = st.sampled_from(
    [
        "byName", "byRegexp", "byType", "options", "value", "range", "regex", "special", "merge", "organize", "sortBy", "a",
        "b", "Value", "unit", "s", "red", "#12345", "min", "mappings", "steps", "custom.hideFrom", "thresholds",
        "percentage", "([",
    ]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.floats() | st.integers(-5, 10**30) | WORDS | st.text(max_size=5)
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OPTIONS = st.dictionaries(
    st.sampled_from(["reduceOptions", "textMode", "colorMode", "graphMode", "legend", "sortBy", "content"]), JUNK
)
DEFAULTS = st.dictionaries(
    st.sampled_from(["unit", "decimals", "min", "max", "mappings", "thresholds", "color", "custom", "noValue"]), JUNK
)
MAPPINGS = st.lists(st.fixed_dictionaries({"type": WORDS, "options": JUNK}), max_size=2)
OVERRIDES = st.lists(
    st.fixed_dictionaries(
        {
            "matcher": st.fixed_dictionaries({"id": WORDS, "options": JUNK}),
            "properties": JUNK | st.lists(st.fixed_dictionaries({"id": WORDS, "value": JUNK}), max_size=2),
        }
    ),
    max_size=2,
)
CHANGES = st.lists(st.fixed_dictionaries({"id": WORDS, "options": JUNK}), max_size=2)
VALUES = st.lists(st.none() | st.floats(), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(KINDS)), OPTIONS, DEFAULTS, MAPPINGS, OVERRIDES, CHANGES, VALUES)
def test_no_file_is_too_odd(
    kind: str, options: Any, defaults: Any, mappings: Any, overrides: Any, changes: Any, values: list[float | None]
):
    more = {"options": options, "overrides": overrides, "transformations": changes}
    made = scene(panel(kind, "a", defaults={**defaults, "mappings": mappings}, **more), answer(({"a": "b"}, values)))

    assert card(made).body
