"""Attacks that hold released values against known ones: each finds what was planted, and nothing where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

Stage = Callable[..., Any]
Find = Callable[..., Any]

ORIGINAL: dict[str, list[Any]] = {
    "name": [f"person-{i:04d}" for i in range(12)],
    "age": [20, 21, 22, 23, 24, 25, 40, 41, 42, 43, 44, 45],
    "zip": ["100"] * 6 + ["200"] * 6,
    "illness": ["flu", "flu", "cold", "cold", "gout", "flu", "gout", "gout", "flu", "cold", "gout", "flu"],
}
DECADES = {"age": {"bucketize": {"width": 20}}}


def released(**columns: list[Any]) -> dict[str, list[Any]]:
    """The original without names and with ages in twenties, and what a test makes different."""
    ages = ["[20, 40)"] * 6 + ["[40, 60)"] * 6
    return {"age": ages, "zip": ORIGINAL["zip"], "illness": ORIGINAL["illness"], **columns}


@pytest.mark.parametrize("name", ["prosecutor", "journalist"])
def test_a_row_that_fits_one_person_alone_is_his(stage: Stage, find: Find, name: str) -> None:
    planted = released(age=["[20, 40)"] * 6 + ["[40, 60)"] * 5 + ["45"])
    result = find(name, stage(ORIGINAL, planted))
    assert (result.singled_out, result.right) == (0, 0), "the last person fits [40, 60) as well"
    planted = released(age=["[20, 40)"] * 6 + ["[40, 45)"] * 5 + ["[45, 60)"])
    result = find(name, stage(ORIGINAL, planted))
    assert (result.singled_out, result.right) == (1, 1)
    assert result.exposed_share == pytest.approx((1 - 1 / 12) / 12)


@pytest.mark.parametrize("name", ["prosecutor", "journalist", "homogeneity", "background-knowledge", "downcoding"])
def test_classes_of_six_single_out_nobody(stage: Stage, find: Find, name: str) -> None:
    result = find(name, stage(ORIGINAL, released(), masks=[DECADES]))
    assert (result.singled_out, result.right, result.exposed_share) == (0, 0, 0.0)


def test_whoever_knows_what_quasi_identifiers_tell_looks_by_it_too(stage: Stage, find: Find) -> None:
    """The weekday of the birthday, say: with it every second person stands alone, and the result says so."""
    told = [f"d{row}" if row % 2 else "d" for row in range(12)]
    scene = stage({**ORIGINAL, "weekday": told}, released(weekday=told), masks=[DECADES])
    assert find("prosecutor", scene).singled_out == 0
    alone = sum(told.count(day) == 1 for day in told)
    result = find("prosecutor", replace(scene, told=("weekday",)))
    assert (result.singled_out, result.right) == (alone, alone)
    assert "quasi-identifiers (and what they tell: weekday)" in result.knows
    assert find("homogeneity", replace(scene, told=("weekday",))).singled_out >= alone


VISITS: dict[str, list[Any]] = {**ORIGINAL, "name": ["person-0000"] * 6 + [f"person-{i:04d}" for i in range(1, 7)]}


def test_six_rows_that_are_all_one_persons_are_found(stage: Stage, find: Find) -> None:
    scene = replace(stage(VISITS, released(), masks=[DECADES]), unit="name")
    result = find("one-person", scene)
    assert (result.people, result.singled_out, result.right) == (7, 1, 1)
    assert result.details["records"] == 6
    assert find("prosecutor", scene).singled_out == 0, "by rows nobody stands alone"


def test_six_rows_of_two_people_single_out_nobody(stage: Stage, find: Find) -> None:
    shared = {**VISITS, "name": ["person-0000"] * 5 + [f"person-{i:04d}" for i in range(1, 8)]}
    result = find("one-person", replace(stage(shared, released(), masks=[DECADES]), unit="name"))
    assert (result.singled_out, result.exposed_share) == (0, 0.0)
    assert find("one-person", stage(shared, released(), masks=[DECADES])).not_applicable is not None


def test_a_claim_that_is_wrong_is_counted_as_wrong(stage: Stage, find: Find) -> None:
    """The row of the last person is released with another illness: linked by values, and not his."""
    ills = [*ORIGINAL["illness"][:-1], "cold"]
    planted = released(age=["[20, 40)"] * 6 + ["[40, 45)"] * 5 + ["[45, 60)"], illness=ills)
    result = find("prosecutor", stage(ORIGINAL, planted))
    assert (result.singled_out, result.right) == (1, 0)


def test_the_marketer_names_one_of_each_class(stage: Stage, find: Find) -> None:
    result = find("marketer", stage(ORIGINAL, released(), masks=[DECADES]))
    assert (result.singled_out, result.right) == (12, 2)


def test_a_class_with_one_illness_is_read_off(stage: Stage, find: Find) -> None:
    ills = ["flu"] * 6 + ORIGINAL["illness"][6:]
    original = {**ORIGINAL, "illness": ills}
    result = find("homogeneity", stage(original, released(illness=ills), masks=[DECADES]))
    assert (result.singled_out, result.right, result.baseline) == (6, 6, 1.0), "flu is what anybody would guess"
    assert result.exposed_share == 0.0
    ills = ["gout"] * 4 + ["flu"] * 8
    original = {**ORIGINAL, "illness": ills, "age": [20, 21, 22, 23, 40, 41, 42, 43, 44, 45, 46, 47]}
    table = released(age=["[20, 40)"] * 4 + ["[40, 60)"] * 8, zip=["100"] * 6 + ["200"] * 6, illness=ills)
    result = find("homogeneity", stage({**original, "zip": table["zip"]}, table, masks=[DECADES]))
    assert (result.singled_out, result.right) == (12, 12)
    assert result.exposed_share == pytest.approx(4 / 12), "the eight with the commonest illness were guessed before"


def test_two_illnesses_become_one_where_the_other_is_ruled_out(stage: Stage, find: Find) -> None:
    ills = ["gout", "cold"] * 3 + ["flu", "flu", "flu", "flu", "gout", "cold"]
    original = {**ORIGINAL, "illness": ills}
    result = find("background-knowledge", stage(original, released(illness=ills), masks=[DECADES]))
    assert (result.people, result.singled_out, result.right) == (12, 6, 6)
    assert result.baseline == 0.5, "gout and cold are as common as flu; without the release flu or gout is guessed"


@pytest.mark.parametrize("others", [["gout", "cold"] * 3, [None, "cold"] * 3])
def test_of_two_illnesses_in_all_whoever_rules_out_one_needs_no_release(
    stage: Stage, find: Find, others: list[str | None]
) -> None:
    """Members of a union or not, some unknown: groups without an unknown one were said to single out their members."""
    ills = ["gout", "cold"] * 3 + others
    result = find("background-knowledge", stage({**ORIGINAL, "illness": ills}, released(illness=ills), masks=[DECADES]))
    assert result.singled_out == 0
    assert result.not_applicable is not None
    assert "knows the other without the release" in result.not_applicable


def test_that_a_value_is_missing_is_not_claimed(stage: Stage, find: Find) -> None:
    ills = ["gout", None] * 3 + ["flu", "cold", "gout"] * 2
    result = find("background-knowledge", stage({**ORIGINAL, "illness": ills}, released(illness=ills), masks=[DECADES]))
    assert result.not_applicable is None
    assert result.singled_out == 0


def test_two_releases_that_hide_different_things_single_people_out(stage: Stage, find: Find) -> None:
    rng = np.random.default_rng(1)
    rows = 60
    original = {
        "name": [f"person-{i}" for i in range(rows)],
        "age": (20 + np.arange(rows) % 6).tolist(),
        "zip": [f"{100 + i // 6}" for i in range(rows)],
        "illness": rng.choice(["flu", "cold", "gout"], rows).tolist(),
        "visit": rng.permutation(rows).tolist(),
    }
    one = {key: original[key] for key in ("age", "illness", "visit")} | {"zip": ["*"] * rows}
    two = {key: original[key] for key in ("zip", "illness", "visit")} | {"age": ["*"] * rows}
    order = rng.permutation(rows)
    shuffled = {key: [values[i] for i in order] for key, values in two.items()}
    alone = find("prosecutor", stage(original, one))
    assert (alone.singled_out, alone.details["fewest_rows"]) == (0, 10)
    both = find("intersection", stage(original, one, shuffled))
    assert (both.singled_out, both.right, both.details["rows_linked"]) == (rows, rows, rows)
    # The same release twice says nothing more than once.
    again = {key: [values[i] for i in order] for key, values in one.items()}
    assert find("intersection", stage(original, one, again)).singled_out == 0


def test_intersection_and_differencing_need_two_releases(stage: Stage, find: Find) -> None:
    for name in ("intersection", "differencing"):
        assert find(name, stage(ORIGINAL, released())).not_applicable is not None


def test_the_difference_of_two_versions_is_the_newcomer(stage: Stage, find: Find) -> None:
    later = released()
    earlier = {column: values[:-1] for column, values in later.items()}
    result = find("differencing", stage(ORIGINAL, earlier, later, masks=[DECADES, DECADES]))
    assert (result.singled_out, result.right, result.details["rows_that_differ"]) == (1, 1, 1)
    same = find("differencing", stage(ORIGINAL, later, later, masks=[DECADES, DECADES]))
    assert (same.singled_out, same.exposed_share) == (0, 0.0)


def test_newcomers_who_come_together_stay_together(stage: Stage, find: Find) -> None:
    original = {column: values + values[-4:] for column, values in ORIGINAL.items()}
    later = {column: values + values[-4:] for column, values in released().items()}
    result = find("differencing", stage(original, released(), later, masks=[DECADES, DECADES]))
    assert (result.singled_out, result.details["fewest_rows"]) == (0, 4)


def test_membership_is_seen_where_a_record_is_alone_with_its_illness(stage: Stage, find: Find) -> None:
    rows = 400
    original = {
        "name": [f"p{i}" for i in range(rows)],
        "age": [20 + i % 10 for i in range(rows)],
        "zip": ["100"] * rows,
        "illness": [f"illness-{i}" for i in range(rows)],
    }
    table = {**{key: original[key] for key in ("zip", "illness")}, "age": ["[20, 30)"] * rows}
    seen = find("membership", stage(original, table))
    assert seen.right == seen.singled_out
    assert seen.exposed_share > 0.2
    common = {**original, "illness": ["flu", "cold"] * (rows // 2)}
    hidden = find("membership", stage(common, {**table, "illness": common["illness"]}))
    assert hidden.singled_out == rows
    assert hidden.exposed_share == 0.0


def test_a_group_hidden_though_it_is_large_has_one_illness(stage: Stage, find: Find) -> None:
    policy = {"quasi_identifying": ["age", "zip"], "k": 3, "l": {"illness": {"kind": "distinct", "l": 2}}}
    ills = ["gout"] * 4 + ["flu", "cold"] * 4
    original = {**ORIGINAL, "zip": ["100"] * 4 + ["200"] * 8, "illness": ills, "age": [20] * 4 + [40] * 8}
    table = {"age": ["*"] * 4 + ["40"] * 8, "zip": ["*"] * 4 + ["200"] * 8, "illness": ills}
    result = find("minimality", stage(original, table, policy=policy))
    assert (result.people, result.singled_out, result.right) == (4, 4, 4)
    mixed = [*["gout", "gout", "flu", "flu"], *ills[4:]]
    spread = {**original, "age": [20, 20, 21, 21, *[40] * 8], "illness": mixed}
    result = find("minimality", stage(spread, {**table, "illness": mixed}, policy=policy))
    assert (result.people, result.singled_out) == (4, 0), "groups of two were hidden for their size"
    of_three = {**policy, "l": {"illness": {"kind": "distinct", "l": 3}}}
    result = find("minimality", stage(original, table, policy=of_three))
    assert result.not_applicable is not None
    assert result.not_applicable.startswith("no model asks for exactly two"), "it asks for three, and is not misquoted"


def test_tight_intervals_give_their_ends_away(stage: Stage, find: Find) -> None:
    ages = [20, 24, 28, 22, 26, 30, 40, 41, 42, 43, 44, 45]
    original = {**ORIGINAL, "age": ages, "zip": ["100"] * 12}
    tight = ["20-28"] * 3 + ["22-30"] * 3 + ["40-45"] * 6
    table = {"age": tight, "zip": ["100"] * 12, "illness": [f"i{i}" for i in range(12)]}
    original["illness"] = table["illness"]
    result = find("downcoding", stage(original, table))
    assert result.singled_out == result.right == 2, "28 ends one group, 22 begins the other"
    wide = ["19-29"] * 3 + ["21-31"] * 3 + ["39-46"] * 6
    assert find("downcoding", stage(original, {**table, "age": wide})).singled_out == 0


def test_attribute_inference_counts_what_the_own_row_adds(stage: Stage, find: Find) -> None:
    rows = 600
    rng = np.random.default_rng(5)
    original = {
        "name": [f"p{i}" for i in range(rows)],
        "age": np.arange(rows).tolist(),
        "zip": ["100"] * rows,
        "illness": rng.choice(["flu", "cold", "gout"], rows).tolist(),
    }
    raw = {key: original[key] for key in ("age", "zip", "illness")}
    exposed = find("attribute-inference", stage(original, raw))
    assert exposed.right == rows
    assert exposed.exposed_share > 0.4
    told_by_age = ["flu" if age < 300 else "cold" for age in original["age"]]
    ages = ["[0, 300)" if age < 300 else "[300, 600)" for age in original["age"]]
    general = find(
        "attribute-inference",
        stage({**original, "illness": told_by_age}, {**raw, "age": ages, "illness": told_by_age}),
    )
    assert general.right == rows, "age tells the illness"
    assert general.exposed_share == 0.0, "it does so without the person"


NINE = range(54)
CROSSED: dict[str, list[Any]] = {
    "name": [f"person-{row:04d}" for row in NINE],
    "age": [30 + 10 * (row // 18) for row in NINE],
    "zip": [f"z{row // 6 % 3}" for row in NINE],
    "illness": [("flu", "cold", "gout")[(row // 18 + row // 6) % 3] for row in NINE],
    "visit": [f"v{row}" for row in NINE],
}


@pytest.mark.parametrize("linked_by", ["visit", None])
def test_groups_of_several_releases_are_read_off_where_their_rows_are_linked(
    stage: Stage, find: Find, linked_by: str | None
) -> None:
    """By age or by place three illnesses are possible, by both only one."""
    shown = ["illness", *([linked_by] if linked_by else [])]
    by_age = {name: CROSSED[name] for name in ("age", *shown)}
    by_zip = {name: CROSSED[name] for name in ("zip", *(name for name in shown if name != "illness"))}
    alone = find("homogeneity", stage(CROSSED, by_age))
    both = find("homogeneity", stage(CROSSED, by_age, by_zip))
    assert alone.singled_out == 0
    assert (both.singled_out, both.right) == ((54, 54) if linked_by else (0, 0))
    assert both.releases == (("release-0", "release-1") if linked_by else ("release-0",))


def test_a_value_is_ruled_out_in_linked_groups_too(stage: Stage, find: Find) -> None:
    ills = [("flu", "cold", "gout")[(row // 18 + row // 6 + row % 2) % 3] for row in NINE]
    people = {**CROSSED, "illness": ills}
    by_age, by_zip = ({name: people[name] for name in (key, "illness", "visit")} for key in ("age", "zip"))
    assert find("background-knowledge", stage(people, by_age)).singled_out == 0
    assert find("background-knowledge", stage(people, by_age, by_zip)).singled_out == 54
