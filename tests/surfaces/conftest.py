"""What the tests of the command line share: they ask what it says and writes, not whether a race is won by the best."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _short_races(short_races: None) -> None:
    """All races of this folder are short."""
