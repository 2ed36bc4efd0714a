"""Texts that have an order are grouped by it: neighbours together, never April with November."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.candidates.search.masks import automatic_masks, mask_for, text_ranks
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AegisError, OptionError, RoleError
from aegis.library.search import Found

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"]


@pytest.mark.parametrize(
    "ordered",
    [
        MONTHS,
        ["mon", "tue.", "Wed", "SAT"],
        ["1st", "2nd", "3rd", "10th"],
        ["first", "second", "third"],
        ["XS", "S", "M", "XXL"],
        ["small", "medium", "extra-large"],
        ["very low", "low", "high"],
        ["[0-10)", "[10-20)", "[90-100)"],
        ["<18", "18-29", "30-64", ">=65"],
        ["[0, 5)", "[5, 10)", "[10, inf)"],
    ],
)
def test_an_order_is_recognised(ordered: list[str]) -> None:
    assert text_ranks(ordered) == tuple(range(len(ordered)))
    assert text_ranks(ordered[::-1]) == tuple(range(len(ordered)))[::-1]


@pytest.mark.parametrize(
    "without",
    [["red", "green", "blue"], ["may", "june"], ["02139", "10115", "13053"], ["m", "f", "x"], ["1-2", "n/a", "3-4"]],
)
def test_no_order_is_guessed(without: list[str]) -> None:
    assert text_ranks(without) is None


def test_groups_are_named_by_their_ends_and_levels_join_neighbours() -> None:
    domain = Domain.of(Kind.TEXT, sorted(MONTHS[:6]))
    groups = np.array([MONTHS.index(value) // 3 for value in domain.values.tolist()])
    named = dict(mask_for(domain, groups, np.ones(6, dtype=np.int64)).parameters()["groups"])
    assert {name: list(values) for name, values in named.items()} == {
        "January to March": MONTHS[:3],
        "April to June": MONTHS[3:6],
    }
    finest, coarser = (dict(mask.parameters()["groups"]) for mask in automatic_masks(domain, np.ones(6, np.int64)))
    assert list(finest) == ["January to February", "March to April", "May to June"]
    assert list(coarser) == ["January to April", "May to June"]


@pytest.mark.parametrize("space", ["cuts", "levels"])
def test_a_search_puts_neighbours_together(space: str) -> None:
    """The label would tempt it to put April with November: they have the same share of it."""
    rows = [(MONTHS[month], "yes" if month in (3, 10) and copy else "no") for month in range(11) for copy in range(4)]
    table = pd.DataFrame(rows, columns=["month", "ill"])
    found = aegis.search(table, policy={"quasi_identifying": ["month"], "k": 8}, label="ill", space=space)
    assert isinstance(found, Found)
    groups = dict(found.configuration.masks["month"].parameters()["groups"])
    assert len(groups) > 1
    for values in groups.values():
        places = sorted(MONTHS.index(value) for value in values)
        assert places == list(range(places[0], places[-1] + 1))


def _colours() -> pd.DataFrame:
    colours = ["red", "orange", "yellow", "green", "blue", "violet"]
    rows = [(colour, "yes" if place in (0, 5) else "no") for place, colour in enumerate(colours)]
    return pd.DataFrame(rows * 20, columns=["colour", "ill"])


def test_an_order_can_be_declared() -> None:
    """Red and violet tell the same of the label, and stand at both ends of the rainbow."""
    policy = {"quasi_identifying": ["colour"], "k": 40}
    free = aegis.search(_colours(), policy=policy, label="ill", space="cuts")
    bound = aegis.search(
        _colours(), policy=policy, label="ill", space="cuts", order=["colour=red<orange<yellow<green<blue<violet"]
    )
    assert isinstance(free, Found)
    assert isinstance(bound, Found)
    together = [
        [sorted(values) for values in dict(found.configuration.masks["colour"].parameters()["groups"]).values()]
        for found in (free, bound)
    ]
    assert ["red", "violet"] in together[0]
    assert not any("red" in values and "violet" in values for values in together[1])
    assert free.utility > bound.utility


@pytest.mark.parametrize(
    ("order", "match"),
    [
        ("colour", "written COLUMN=first<second"),
        ("colour=red<", "written COLUMN=first<second"),
        ("shoe=a<b", "'shoe', which is not quasi-identifying"),
        ("colour=red<blue", "'colour' leaves out 4 of its 6 values"),
        ("colour=red<red<blue", "twice"),
    ],
)
def test_an_order_that_cannot_be_is_one_sentence(order: str, match: str) -> None:
    policy = {"quasi_identifying": ["colour"], "k": 40}
    with pytest.raises(OptionError, match=match):
        aegis.search(_colours(), policy=policy, label="ill", order=[order])


def test_an_order_in_the_roles_file_is_kept_by_every_search(tmp_path: Path) -> None:
    data = tmp_path / "colours.csv"
    _colours().to_csv(data, index=False)
    roles = tmp_path / "colours.roles.yaml"
    policy = {"quasi_identifying": ["colour"], "k": 40}
    roles.write_text("order: {colour: [red, orange, yellow, green, blue, violet, pink]}\n")
    found = aegis.search(data, policy=policy, label="ill", space="cuts")
    assert isinstance(found, Found)
    groups = dict(found.configuration.masks["colour"].parameters()["groups"]).values()
    assert not any("red" in values and "violet" in values for values in groups)
    stated = aegis.search(
        data, policy=policy, label="ill", space="cuts", order=["colour=violet<red<orange<yellow<green<blue"]
    )
    assert isinstance(stated, Found)
    assert any(
        {"red", "violet"} <= set(g) for g in dict(stated.configuration.masks["colour"].parameters()["groups"]).values()
    )


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("order: [red, blue]", RoleError, "order gives each column its values"),
        ("order: {colour: [red]}", RoleError, "at least two values, each once"),
        ("order: {colour: [red, red]}", RoleError, "at least two values, each once"),
        ("order: {shoe: [a, b]}", AegisError, "'shoe'"),
        ("order: {colour: [red, blue]}", OptionError, "'colour' leaves out 4 of its 6 values"),
    ],
)
def test_a_wrong_order_in_the_roles_file_is_one_sentence(
    tmp_path: Path, text: str, error: type[Exception], match: str
) -> None:
    data = tmp_path / "colours.csv"
    _colours().to_csv(data, index=False)
    (tmp_path / "colours.roles.yaml").write_text(text + "\n")
    with pytest.raises(error, match=match):
        aegis.search(data, policy={"quasi_identifying": ["colour"], "k": 40}, label="ill")
