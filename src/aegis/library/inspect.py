"""Look at a table: what its columns hold and which roles they look like having."""

from __future__ import annotations

from typing import Any

from aegis.counts.profile import Profile, profile
from aegis.data.engine import open_dataset
from aegis.library.keywords import check_keywords


def inspect(data: Any, **options: Any) -> Profile:
    """Profile ``data`` (a path, a URL or a data frame); ``options`` are those of `open_dataset`."""
    check_keywords(inspect, options)
    return profile(open_dataset(data, **options))
