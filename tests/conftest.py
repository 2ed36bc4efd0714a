"""What every test shares: property tests are not timed, a busy machine is no defect.

Where CI is set property tests draw the same examples every time; elsewhere they look for new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("aegis", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("aegis")

DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[1].parent / "shared" / "datasets"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the public benchmark data are skipped, by name, where the data is not."""
    if DATASETS.is_dir():
        return
    for item in items:
        if item.get_closest_marker("datasets"):
            item.add_marker(pytest.mark.skip(reason="the benchmark data is not here; set AEGIS_DATASETS"))
