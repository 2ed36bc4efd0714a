"""Which values a listed column has beside its list: read off counts that are measured anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.declared import DeclaredValues, PublicDomain
from aegis.candidates.synthesis.finding import MOST_VALUES, Finder, settled
from aegis.candidates.synthesis.measuring import Account, Measurer, Promise, SeededNoise
from aegis.candidates.synthesis.synthesizer import Model, Settings, learn
from aegis.counts.cells import Listed
from aegis.counts.marginals import CodedColumn, CodesCounter, Frequent
from aegis.counts.protect import OTHER
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Column

SETTINGS = Settings(pool=300, least_pool=300, rounds=1)
TEXTS = Domain.of(Kind.TEXT, ["a", "b", "c"])


def attribute() -> Attribute:
    column = CodedColumn(name="x", kind=Kind.TEXT, cells=Listed(values=("a", "b")))
    return Attribute(
        column=column, groups=np.arange(4), values=("a", "b", OTHER, None), origin="found", doubtful=(2, 3)
    )


def test_codes_that_do_not_stand_out_are_taken_off_and_their_records_count_as_the_commonest() -> None:
    noisy = np.array([[10.0, 12.0], [300.0, 200.0], [90.0, 60.0], [7.0, -4.0]])
    kept, counts = settled(attribute(), noisy, sigma=10.0)
    assert kept.values == ("a", "b", OTHER)
    assert kept.groups.tolist() == [0, 1, 2, 1], "a is rare but on the list; missing is no code of its own"
    assert kept.doubtful == ()
    np.testing.assert_array_equal(counts, noisy[:3])


def test_codes_that_stand_out_stay() -> None:
    kept, _ = settled(attribute(), np.array([[10.0], [300.0], [60.0], [41.0]]), sigma=10.0)
    assert kept.values == ("a", "b", OTHER, None)
    assert kept.groups.tolist() == [0, 1, 2, 3]


def learnt(declared: DeclaredValues | None, *, missing: bool = False) -> tuple[Model, Account]:
    """Two thirds of x are a, the rest b, or missing where that is asked for."""
    x = np.tile([0, 0, 3 if missing else 1], 400)
    rng = np.random.default_rng(0)
    account = Account.of(Promise(epsilon=5.0, delta=1e-6), finds_values=True)
    domain = Domain.of(Kind.TEXT, ["a", "b", "c"], missing=missing)
    model = learn(
        CodesCounter({"x": (domain, x), "y": (TEXTS, np.tile([0, 1], 600))}),
        [Column(name=name, kind=Kind.TEXT) for name in ("x", "y")],
        label="y",
        account=account,
        noise=SeededNoise(rng),
        public=PublicDomain(columns={} if declared is None else {"x": declared}),
        rng=rng,
        settings=SETTINGS,
    )
    return model, account


@pytest.mark.parametrize("missing", [False, True])
def test_missing_values_are_found_where_there_are_some(missing: bool) -> None:
    (x,) = learnt(DeclaredValues(values=("a", "b", "c")), missing=missing)[0].attributes
    assert x.values == (("a", "b", "c", None) if missing else ("a", "b", "c"))


def test_what_is_not_listed_is_found_and_costs_no_question_of_its_own() -> None:
    model, account = learnt(DeclaredValues(values=("a",), others=True))
    assert model.attributes[0].values == ("a", OTHER)
    asked = [entry for entry in account.measured if "x" in entry.columns]
    assert [entry.what for entry in asked] == ["attribute", "attribute again"]
    assert account.spent <= account.rho


class OtherOrder(CodesCounter):
    """Hands values over as an engine does that meets them the other way round in the rows."""

    def frequent(self, name: str, kind: Kind, *, at_least: int) -> Frequent:
        frequent = super().frequent(name, kind, at_least=at_least)
        return Frequent(values=frequent.values[::-1], counts=frequent.counts[::-1])


class NoNoise(SeededNoise):
    """So that all counts are equal."""

    def on_counts(self, counts: Any, *, sigma: float) -> Any:
        return counts.astype(float)


@pytest.mark.parametrize("counter", [CodesCounter, OtherOrder])
def test_which_of_equally_common_values_are_kept_does_not_come_from_the_order_of_the_rows(
    counter: type[CodesCounter],
) -> None:
    texts = [f"town {number:03d}" for number in range(MOST_VALUES + 9)]
    finder = Finder(
        counter=counter({"town": (Domain.of(Kind.TEXT, texts), np.repeat(np.arange(len(texts)), 500))}),
        measurer=Measurer(
            Account.of(Promise(epsilon=50.0, delta=1e-6), finds_values=True), NoNoise(np.random.default_rng(0))
        ),
        rho=1.0,
        delta=1e-8,
        least=1.0,
    )
    found = finder.attribute(Column(name="town", kind=Kind.TEXT), None, None, now=False)
    assert isinstance(found, Attribute)
    assert found.values[:MOST_VALUES] == tuple(texts[:MOST_VALUES])
