"""Several private columns: each release is judged by parties that see all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.encoding import encode_side
from aegis.candidates.sanitizers.fitting import fit, fit_together
from aegis.errors import SanitizerError

Table = dict[str, np.ndarray[Any, Any]]
QUICK = ("trees",)


@pytest.fixture(scope="module")
def table() -> Table:
    """Two private columns that say nearly the same: what one release hides the other may tell."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2400, 3))
    x = z[:, 0] + 0.5 * z[:, 1]
    return {
        "weight": x,
        "height": x + 0.05 * rng.standard_normal(2400),
        "income": z[:, 0] + 0.5 * rng.standard_normal(2400),
        "zip": np.where(z[:, 1] > 0, "a", "b"),
    }


def test_what_two_releases_say_together_is_counted(table: Table) -> None:
    sides: dict[str, Any] = {
        "authorized": {"income": table["income"]},
        "adversaries": [{"zip": table["zip"]}],
        "names": QUICK,
        "quick": True,
    }
    alone = fit(table["weight"], column="weight", distortion=0.2, family="noise", rng=np.random.default_rng(1), **sides)
    weight, height = fit_together(
        {"weight": table["weight"], "height": table["height"]},
        distortions={"weight": 0.2, "height": 0.1},
        family="noise",
        rng=np.random.default_rng(1),
        **sides,
    )
    # the first column is fitted as if alone, but its twin's release comes on top and the audit says so
    assert weight.audit.worst < 0.8 * alone.audit.worst
    assert height.reconstruction.loss <= 0.1
    assert "together" in weight.method


def test_one_column_is_simply_fitted(table: Table) -> None:
    (one,) = fit_together(
        {"weight": table["weight"]},
        authorized={"income": table["income"]},
        adversaries=[{"zip": table["zip"]}],
        distortions={"weight": 0.2},
        family="noise",
        names=QUICK,
        rng=np.random.default_rng(1),
        quick=True,
    )
    assert "together" not in one.method
    reference = one.audit.exposure.reference_pinned_share
    assert reference is not None
    assert one.audit.exposure.pinned_share == pytest.approx(reference, abs=0.05)


def test_a_private_column_is_nobodys_side_information(table: Table) -> None:
    for sides in ({"authorized": {"height": table["height"]}}, {"adversaries": [{"height": table["height"]}]}):
        given: dict[str, Any] = {"authorized": {"income": table["income"]}, "adversaries": [{"zip": table["zip"]}]}
        with pytest.raises(SanitizerError, match="'height' is private"):
            fit_together(
                {"weight": table["weight"], "height": table["height"]},
                distortions={"weight": 0.2, "height": 0.2},
                rng=np.random.default_rng(1),
                **{**given, **sides},
            )
    with pytest.raises(SanitizerError, match="at least one private column"):
        fit_together({}, authorized={}, adversaries=[], distortions={}, rng=np.random.default_rng(1))


def test_texts_with_many_levels_keep_their_order() -> None:
    zips = np.array([f"{9000 + i % 100}" for i in range(400)])
    encoded = encode_side({"zip": zips}, rows=400, party="adversary 1")
    assert encoded.shape == (400, 25)
    order = encoded[:, -1]
    assert abs(np.corrcoef(order, zips.astype(float))[0, 1]) > 0.999


def test_an_adversary_that_knows_all_that_the_authorised_party_knows_is_refused() -> None:
    rng = np.random.default_rng(0)
    x, side, other = (rng.standard_normal(400) for _ in range(3))
    with pytest.raises(SanitizerError, match="adversary 2 knows every column of the authorised party"):
        fit_together(
            {"secret": x},
            authorized={"side": side},
            adversaries=[{"other": other}, {"other": other, "side": side}],
            distortions={"secret": 0.5},
            rng=rng,
        )
