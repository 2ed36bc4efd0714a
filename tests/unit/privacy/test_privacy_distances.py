"""Distances that look at each value once are the distances of every class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.counts.content import Content
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.models.t_closeness import DISTANCES, distances


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@given(classes=st.integers(1, 30), size=st.integers(1, 6), missing=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_the_short_way_is_the_long_way(distance: str, classes: int, size: int, missing: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(kind=Kind.INTEGER, values=np.arange(size), missing=missing)
    owners = np.concatenate([np.arange(classes), rng.integers(0, classes, classes // 4)])
    content = Content.grouped(
        domain=domain,
        owners=owners,
        values=rng.integers(0, domain.size, len(owners)),
        counts=rng.integers(1, 9, len(owners)),
        classes=classes,
    )
    np.testing.assert_allclose(distances(content, distance), DISTANCES[distance](content), atol=1e-12)
