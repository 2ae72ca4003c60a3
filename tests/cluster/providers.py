"""Both providers, as pytest parameters; the second runs where Docker answers."""

import pytest

PROVIDERS = [
    pytest.param("processes", id="processes"),
    pytest.param("containers", id="containers", marks=pytest.mark.containers),
]
