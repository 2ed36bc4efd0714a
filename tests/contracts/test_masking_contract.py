"""What every registered mask must do. A new mask is tested by being registered."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, Mask, PermutingMask, ValueMask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_ranges import DateRanges
from aegis.masking.transition import Channel, Partition, transition

VALUES: dict[Kind, list[Any]] = {
    Kind.INTEGER: [-120, -7, 0, 3, 15, 43, 97, 12345],
    Kind.REAL: [-7.25, 0.0, 0.3, 53.5, 1234.75],
    Kind.TEXT: ["", "Bachelors", "es", "it", "se", "ana@clinic.org", "21162", "çédille ☂"],
    Kind.BOOLEAN: [False, True],
    Kind.DATE: [date(1969, 12, 31), date(2024, 2, 29), date(2024, 5, 17)],
    Kind.TIMESTAMP: [datetime(1969, 12, 31, 23, 59), datetime(2024, 5, 17, 12, 30)],
}
CASES = [(name, kind) for name, mask in MASKS.items() for kind in Kind if kind in mask.accepts]


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", "a key that only this test knows")


def example(name: str) -> Mask:
    return MASKS[name].from_parameters(dict(MASKS[name].example_parameters))


def domain_for(mask: Mask, kind: Kind, *, missing: bool) -> Domain:
    hierarchy = getattr(mask, "hierarchy", None)
    if hierarchy is not None:
        return Domain.of(Kind.TEXT, [row[0] for row in hierarchy.rows], missing=missing)
    return Domain.of(kind, VALUES[kind], missing=missing)


@pytest.mark.parametrize("name", list(MASKS))
def test_it_says_what_it_is(name: str) -> None:
    kind_of_mask = MASKS[name]
    mask = example(name)
    assert mask.name == name
    assert kind_of_mask.__doc__, "its docstring begins with a sentence that says what it does"
    assert not kind_of_mask.__doc__.startswith(kind_of_mask.__name__ + "("), "a docstring of its own"
    assert all(kind_of_mask.example), "give it an example: a value, and what becomes of it"
    assert mask.describe(), "describe() says in a few words what it does"
    assert mask.accepts, "accepts names the kinds of column that it fits"


@pytest.mark.parametrize("name", list(MASKS))
def test_it_is_a_value_that_survives_writing(name: str) -> None:
    mask = example(name)
    spec = json.loads(json.dumps(mask.spec()))
    given = {} if isinstance(spec, str) else spec[name]
    again = MASKS[name].from_parameters(given)
    assert again == mask
    assert hash(again) == hash(mask)
    with pytest.raises((AttributeError, TypeError)):
        mask.name_of_something = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", list(MASKS))
def test_an_unknown_parameter_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(MaskError, match="colour"):
        MASKS[name].from_parameters({**MASKS[name].example_parameters, "colour": 1})


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, p) for name, mask in MASKS.items() for p in mask.example_parameters]
)
@pytest.mark.parametrize("wrong", [None, "x", float("nan"), True, {"a": object()}, [[None]]])
def test_a_wrong_parameter_is_a_mask_error(name: str, parameter: str, wrong: Any) -> None:
    if parameter == "hierarchy" and wrong is None:
        pytest.skip("a hierarchy may come later")
    with pytest.raises(MaskError):
        MASKS[name].from_parameters({**MASKS[name].example_parameters, parameter: wrong})


@pytest.mark.parametrize("name", [name for name, mask in MASKS.items() if set(mask.accepts) != set(Kind)])
def test_it_refuses_other_kinds(name: str) -> None:
    for kind in set(Kind) - set(MASKS[name].accepts):
        with pytest.raises(MaskError, match="'height'"):
            example(name).check(kind, column="height")


@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.parametrize("missing", [True, False])
def test_counts_are_kept(name: str, kind: Kind, missing: bool) -> None:
    mask = example(name)
    domain = domain_for(mask, kind, missing=missing)
    counts = np.arange(1, domain.size + 1)
    step = transition(mask, domain, counts)
    pushed = step.push(counts)
    assert pushed.shape == (step.target.size,)
    assert pushed.sum() == pytest.approx(counts.sum())
    assert step.target.kind is mask.kind_after(domain.kind)
    assert np.array_equal(step.target.values, np.unique(step.target.values))
    if isinstance(mask, ValueMask):
        assert isinstance(step, Partition)
        assert set(step.codes.tolist()) == set(range(step.target.size))
    else:
        assert isinstance(step, Channel)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_missing_stays_missing_unless_it_says_otherwise(name: str, kind: Kind) -> None:
    mask = example(name)
    domain = domain_for(mask, kind, missing=True)
    counts = np.ones(domain.size)
    step = transition(mask, domain, counts)
    missing_before = np.zeros(domain.size)
    missing_before[-1] = 1
    after = step.push(missing_before)
    if isinstance(mask, PermutingMask):
        assert mask.covers_missing
        assert after == pytest.approx(counts / counts.sum())
    elif mask.covers_missing:
        assert not step.target.missing
    else:
        assert step.target.missing
        assert after[-1] == 1, "missing becomes a value: set covers_missing if that is meant"
        if not mask.shows_nothing:
            assert step.push(counts - missing_before)[-1] == 0, "nothing else becomes missing"


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_column_without_values_is_no_trouble(name: str, kind: Kind) -> None:
    domain = Domain.of(kind, [], missing=True)
    step = transition(example(name), domain, np.array([4]))
    assert step.push(np.array([4])).sum() == pytest.approx(4)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_resolving_twice_changes_nothing(name: str, kind: Kind) -> None:
    mask = example(name)
    domain = domain_for(mask, kind, missing=True)
    counts = np.arange(1, domain.size + 1)
    once = mask.resolve(domain, counts)
    assert once.resolve(Domain.of(domain.kind, domain.values[:1]), np.array([1])) == once
    assert type(once) is type(mask)


@pytest.mark.parametrize("name", [name for name, mask in MASKS.items() if issubclass(mask, ValueMask)])
def test_the_documented_example_is_true(name: str) -> None:
    mask = example(name)
    assert isinstance(mask, ValueMask)
    if mask.injective:
        pytest.skip("its outcome depends on a secret")
    before, after = mask.example
    readers: list[tuple[Kind, Any]] = [(Kind.INTEGER, int), (Kind.REAL, float), (Kind.DATE, np.datetime64)]
    for kind, read in [*readers, (Kind.TEXT, str)]:
        if kind in mask.accepts:
            try:
                values = np.array([read(before)], dtype=kind.dtype)
            except ValueError:
                continue
            masked = mask.on_values(values).tolist()[0]
            assert ("(missing)" if masked is None else show(masked)) == after
            return
    pytest.fail("no kind it accepts can hold its example")


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_value_of_the_column_enters_its_repr(name: str, kind: Kind) -> None:
    canary = {Kind.TEXT: "canary-7431", Kind.INTEGER: 74317431}.get(kind)
    if canary is None or getattr(example(name), "hierarchy", None) is not None:
        pytest.skip("nothing to plant")
    domain = Domain.of(kind, [canary, *VALUES[kind]])
    resolved = example(name).resolve(domain, np.ones(domain.size))
    if name in {"ranges", "add_laplace_noise", "add_gaussian_noise"}:
        return  # their ends are the published ends of the column
    assert "7431" not in repr(resolved)
    assert "7431" not in resolved.describe()


@pytest.mark.parametrize("name", [name for name, mask in MASKS.items() if not mask.lists_values])
def test_one_that_lists_no_values_is_stated_as_it_is(name: str) -> None:
    mask = example(name)
    assert not mask.names_values
    assert mask.without_values() == mask
    assert mask.without_values(mask.labels) == mask
    assert mask.gives({})
    assert not mask.gives({"a label": ["a value"]})


@pytest.mark.parametrize(
    ("mask", "edges"),
    [
        (Bucketize(edges=(10, 20, 31, 50)), (31, 50)),
        (DateRanges(edges=("2010-01-01", "2020-01-01", "2030-01-01", "2040-01-01")), ("2030-01-01", "2040-01-01")),
    ],
)
def test_an_edge_with_nothing_written_on_either_side_is_not_stated(mask: Mask, edges: tuple[Any, ...]) -> None:
    *_, before, last = mask.labels
    assert mask.without_values([before, last]).parameters()["edges"] == list(edges)
    assert all(mask.without_values([before, last]).could_write([before, last]))
    nothing = mask.without_values([]).parameters()["edges"]
    assert len(nothing) == 1
    assert not set(nothing) & set(mask.parameters()["edges"])


@pytest.mark.parametrize("name", [name for name, mask in MASKS.items() if mask.lists_values])
def test_one_that_lists_values_can_be_stated_without_them(name: str) -> None:
    mask = example(name)
    before, after = mask.example
    assert mask.names_values
    assert after in mask.labels
    assert before in json.dumps(mask.spec())
    assert before not in json.dumps(mask.without_values().spec())
    assert set(mask.without_values().labels) == set(mask.labels)
    assert set(mask.without_values([after]).labels) == {after}
    assert mask.gives({after: [before]})
    other = next(label for label in mask.labels if label != after)
    assert not mask.gives({other: [before]})


def written_texts(mask: Mask, domain: Domain) -> list[str]:
    """What a mask writes of a domain, missing apart."""
    change = transition(mask, domain, np.ones(domain.size))
    if not getattr(mask, "injective", False):
        return [show(value) for value in change.target.values.tolist()]
    assert isinstance(mask, ValueMask)
    return [show(value) for value in mask.on_values(domain.values).tolist()]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_what_it_writes_is_what_it_could_write(name: str, kind: Kind) -> None:
    """Before it was fitted, as a certificate states it, and after."""
    mask = example(name)
    domain = domain_for(mask, kind, missing=False)
    texts = written_texts(mask, domain)
    for stated in (mask, mask.resolve(domain, np.ones(domain.size))):
        assert stated.could_write(texts) == [True] * len(texts), f"could_write refuses what {name} itself wrote"


RAW = {"identity", "shuffle", "randomize", "top_code", "bottom_code", "add_laplace_noise", "add_gaussian_noise"}
"""Masks that may write any raw value, or nearly any."""


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] not in RAW])
def test_raw_values_are_not_taken_for_its_work(name: str, kind: Kind) -> None:
    mask = example(name)
    texts = [show(value) for value in domain_for(mask, kind, missing=False).values.tolist()]
    assert not all(mask.could_write(texts)), "could_write takes any text: be narrower, or add the mask to RAW"
