"""Every anonymizer keeps what it declares: one is tested by being registered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.clusters.anonymizer import Anonymizer
from aegis.candidates.clusters.methods import ANONYMIZERS, OPTIONS, Method, is_asked, users_of
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError
from aegis.library.anonymize import anonymize
from aegis.library.compare import compare
from aegis.privacy.policy import Policy

NAMES = list(ANONYMIZERS)
ASKED: dict[str, Any] = {
    "l": 2, "classes": 3, "trade_off": 0.5, "seconds": 0.1, "rounds": 40, "centroid": "medoid",
    "scale": "standardised", "bound_share": 0.0, "policy": Policy.from_mapping({"k": 3}), "hierarchies": {},
    "by_branch": True, "label_weight": 0.5,
}  # fmt: skip
NEEDED: dict[str, dict[str, Any]] = {"by_branch": {"hierarchies": {}}}
"""What an option is given with."""


def made(name: str, *, k: int, **options: Any) -> Anonymizer:
    """The anonymizer, counted in rounds where it searches: equal seeds must give equal tables on any machine."""
    method = ANONYMIZERS[name]
    rounds = {"rounds": 300} if "rounds" in method.uses else {}
    return method.anonymizer(k=k, **{**rounds, **options})


def people(rng: np.random.Generator, rows: int, *, secrets: int = 3) -> dict[str, Any]:
    return {
        "age": rng.normal(50, 20, rows),
        "weight": rng.normal(70, 9, rows).round(),
        "sex": rng.choice(["f", "m"], rows),
        "ill": rng.choice([f"d{i}" for i in range(secrets)], rows),
    }


def records_of(columns: dict[str, Any]) -> Records:
    return Records.from_columns(columns, quasi_identifiers=["age", "weight", "sex"], sensitive=["ill"])


def tuples_of(published: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(column.tolist() for column in published.values()), strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**20), rows=st.integers(12, 60), k=st.integers(1, 6))
def test_k_holds_on_the_published_table(name: str, seed: int, rows: int, k: int) -> None:
    anonymizer = made(name, k=k)
    published = anonymizer.fit_transform(records_of(people(np.random.default_rng(seed), rows)))
    assert list(published) == ["age", "weight", "sex"]
    rows_of = tuples_of(published)
    assert len(rows_of) == rows
    sizes = {row: rows_of.count(row) for row in rows_of}
    assert min(sizes.values()) >= k
    assert anonymizer.result_.smallest_class == min(sizes.values())
    assert anonymizer.result_.distinct_tuples == len(sizes) == len(set(anonymizer.labels_.tolist()))


@pytest.mark.parametrize("name", users_of("l"))
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_l_holds_on_the_published_table(name: str, seed: int) -> None:
    columns = people(np.random.default_rng(seed), 40, secrets=2)
    columns["ill"][:4] = ["d0", "d1", "d0", "d1"]
    try:
        published = made(name, k=3, l=2).fit_transform(records_of(columns))
    except AnonymizerError:
        return  # refused in words is as good as kept
    held: dict[tuple[Any, ...], set[str]] = {}
    for row, secret in zip(tuples_of(published), columns["ill"], strict=True):
        held.setdefault(row, set()).add(secret)
    assert min(len(values) for values in held.values()) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_permuting_rows_permutes_the_published_table(name: str) -> None:
    """On a table so small that a search finds its best, and whose records all differ."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        columns = {key: np.asarray(values) for key, values in people(rng, 12).items()}
        order = rng.permutation(12)
        there = made(name, k=3, **({"rounds": 3000} if "rounds" in ANONYMIZERS[name].uses else {}))
        here = made(name, k=3, **({"rounds": 3000} if "rounds" in ANONYMIZERS[name].uses else {}))
        first = there.fit_transform(records_of(columns))
        second = here.fit_transform(records_of({key: values[order] for key, values in columns.items()}))
        for key in first:
            moved = first[key][order]
            if moved.dtype.kind == "f":
                np.testing.assert_allclose(moved, second[key], rtol=1e-9)
            else:
                assert moved.tolist() == second[key].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_tables(name: str) -> None:
    records = records_of(people(np.random.default_rng(5), 50))
    first, second = (made(name, k=4, seed=9).fit_transform(records) for _ in range(2))
    assert tuples_of(first) == tuples_of(second)


@pytest.mark.parametrize("name", NAMES)
def test_more_than_the_table_has_is_an_error(name: str) -> None:
    records = records_of(people(np.random.default_rng(1), 20))
    with pytest.raises(AnonymizerError, match="k = 21 needs at least 21 records and the table has 20"):
        made(name, k=21).fit(records)
    with pytest.raises(AnonymizerError, match="at least 1"):
        made(name, k=0)
    if "l" in ANONYMIZERS[name].uses:
        with pytest.raises(AnonymizerError, match="l = 9 is above the 3"):
            made(name, k=2, l=9).fit(records)
    if "classes" in ANONYMIZERS[name].uses:
        with pytest.raises(AnonymizerError, match="use at most 4 classes"):
            made(name, k=5, classes=5).fit(records)


@pytest.mark.parametrize("name", users_of("classes"))
def test_the_number_of_classes_is_kept(name: str) -> None:
    result = made(name, k=3, classes=7).fit(records_of(people(np.random.default_rng(2), 60))).result_
    assert result.classes == 7


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_used_is_refused_and_what_is_used_is_taken(name: str) -> None:
    method = ANONYMIZERS[name]
    assert set(ASKED) == set(OPTIONS), "an option is missing from this suite"
    for option, value in ASKED.items():
        if option in method.uses:
            assert isinstance(method.anonymizer(k=3, **{option: value}, **NEEDED.get(option, {})), Anonymizer)
        else:
            with pytest.raises(AnonymizerError, match=f"{name} does not use .*; leave it out"):
                method.anonymizer(k=3, **{option: value})
        assert isinstance(method.anonymizer(k=3, **{option: OPTIONS[option].neutral}), Anonymizer)
        assert not is_asked(option, OPTIONS[option].neutral)


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_what_it_is(name: str) -> None:
    method = ANONYMIZERS[name]
    assert method.name == name
    assert len(method.summary) > 20
    assert "\n" not in method.summary
    assert method.uses <= set(OPTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_progress_counts_up_to_its_total(name: str) -> None:
    calls: list[tuple[int, int | None, str]] = []
    made(name, k=3).fit(
        records_of(people(np.random.default_rng(3), 60)),
        progress=lambda done, total, what: calls.append((done, total, what)),
    )
    assert all(total is None or 0 <= done <= total for done, total, _ in calls)
    assert all(what for _, _, what in calls)


@contextmanager
def registered(method: Method) -> Iterator[None]:
    ANONYMIZERS.add(method.name, method)
    try:
        yield
    finally:
        del ANONYMIZERS._entries[method.name]


def test_a_new_anonymizer_is_offered_without_further_edits(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    columns = people(np.random.default_rng(4), 40)
    lines = ["age,weight,sex,ill", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    data.write_text("\n".join(lines) + "\n")
    quasi = ["age", "weight", "sex"]
    with registered(replace(ANONYMIZERS["mdav"], name="newcomer", summary="a method that another package brings")):
        done = anonymize(data, method="newcomer", k=5, quasi=quasi)
        assert done.result.smallest_class >= 5
        found = compare(data, label="ill", k=5, quasi=quasi, models=["decision-tree"], splits=2, seconds=0.1, jobs=1)
        assert set(found.releases) == {*NAMES, "newcomer"}
    with pytest.raises(AnonymizerError, match="no anonymizer called 'newcomer'"):
        anonymize(data, method="newcomer", k=5, quasi=quasi)
    with pytest.raises(AnonymizerError, match=r"none of mdav uses a number of classes .*compare mo-obam too"):
        compare(data, label="ill", methods=["mdav"], k=5, quasi=quasi, classes=3)
