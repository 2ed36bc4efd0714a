"""What attacks are made of: readings of written values, candidates, intervals, and the registry's contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.attacks.attack import ATTACKS, Attack, AttackResult, Claims, NotApplicable, clopper_pearson
from aegis.attacks.candidates import Candidates, People
from aegis.attacks.reading import read_column
from aegis.counts.answer import encode
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import OptionError
from aegis.library.releasing.attack_scene import held_release
from aegis.masking.configuration import build_mask

AGES = Domain.of(Kind.INTEGER, [18, 25, 31, 39, 40, 64], missing=True)
ZIPS = Domain.of(Kind.TEXT, ["02101", "02102", "10001", "1000"])


def behind(text: str | None, domain: Domain, mask: Any = None) -> list[Any]:
    """The true values that a written one may stand for."""
    built = None if mask is None else build_mask(mask)
    reading = read_column([text], domain, mask=built, counts=np.ones(domain.size))
    members = reading._members(np.array([0]))[0]
    return [[*domain.values.tolist(), None][code] for code in np.flatnonzero(members)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[18, 31)", [18, 25]),
        ("18-31", [18, 25, 31]),
        ("(-inf, 25)", [18]),
        (">=40", [40, 64]),
        ("39", [39]),
        ("39.0", [39]),
        ("*", [18, 25, 31, 39, 40, 64, None]),
        (None, [None]),
        ("[18, 31) or missing", [18, 25, None]),
        ("words nobody can read", [18, 25, 31, 39, 40, 64, None]),
        ("[70, 80)", []),
        ("70", []),
    ],
)
def test_a_number_is_read_as_people_read_it(text: str | None, values: list[Any]) -> None:
    assert behind(text, AGES) == values


def test_a_text_is_read_as_prefix_set_or_itself() -> None:
    assert behind("021**", ZIPS) == ["02101", "02102"]
    assert behind("100**", ZIPS) == ["10001"], "a shorter code has fewer stars"
    assert behind("{02101, 10001}", ZIPS) == ["02101", "10001"]
    holed = Domain.of(Kind.TEXT, ["a", 'b "c"'], missing=True)
    assert behind("{a, missing}", holed) == ["a", None]
    assert behind('{"b \\"c\\"", missing}', holed) == ['b "c"', None]
    assert behind("{a, other values}", holed) == ["a", 'b "c"']
    assert behind("10001", ZIPS) == ["10001"]


def test_dates_are_read_in_intervals() -> None:
    days = Domain.of(Kind.DATE, np.array(["2024-01-01", "2024-02-01", "2024-03-01"], dtype="M8[D]"))
    assert len(behind("[2024-01-15, 2024-03-01)", days)) == 1
    assert len(behind("(-inf, 2024-03-01)", days)) == 2
    assert len(behind("2024-02-01", days)) == 1


def test_a_known_mask_says_what_is_behind_a_value() -> None:
    assert behind("40", AGES, {"round": {"step": 10}}) == [39, 40]
    assert behind("40", AGES, {"top_code": {"at": 40}}) == [40, 64]
    assert behind("abcdef0123456789", ZIPS, "pseudonym") == ZIPS.values.tolist()
    assert behind("33", AGES, {"add_laplace_noise": {"scale": 5}}) == [*AGES.values.tolist(), None]


@given(st.integers(0, 40), st.data())
def test_an_interval_holds_the_share_it_is_about(right: int, data: Any) -> None:
    claims = data.draw(st.integers(right, 60))
    low, high = clopper_pearson(right, claims)
    assert 0 <= low <= (right / claims if claims else 0.5) <= high <= 1


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=25),
    st.sampled_from([2, 3]),
)
def test_candidates_are_those_that_a_plain_look_finds(rows: list[tuple[int, int]], width: int) -> None:
    columns = [encode(pa.chunked_array([[row[place] for row in rows]]), Kind.INTEGER) for place in (0, 1)]
    people = People(
        count=len(rows),
        codes={name: codes for name, (_, codes) in zip("ab", columns, strict=True)},
        domains={name: domain for name, (domain, _) in zip("ab", columns, strict=True)},
    )
    table = pa.table(
        {"a": [f"[{a // width * width}, {a // width * width + width})" for a, _ in rows], "b": [b for _, b in rows]}
    )
    view = held_release("r", table, people, masks={}).view
    found = Candidates.find(view, people, ("a", "b")).rows
    plain = [sum(a // width == c // width and b == d for c, d in rows) for a, b in rows]
    assert found.tolist() == plain


def test_the_registry_names_every_attack_with_what_it_knows() -> None:
    assert set(ATTACKS) >= {
        "attribute-inference", "averaging", "background-knowledge", "differencing", "downcoding", "file-metadata",
        "homogeneity", "intersection", "journalist", "marketer", "membership", "minimality", "prosecutor", "pseudonyms",
        "one-person",
        "row-order",
    }  # fmt: skip
    for name, made in ATTACKS.items():
        assert made.name == name
        assert len(made.knows.split()) > 4, f"{name}: say in some words what the attacker knows"
    with pytest.raises(OptionError, match="did you mean 'prosecutor'"):
        ATTACKS["prosecuter"]


@pytest.mark.parametrize("name", sorted({*ATTACKS} - {"row-order", "membership", "attribute-inference"}))
def test_the_order_of_rows_and_people_changes_nothing(
    name: str, stage: Callable[..., Any], find: Callable[..., Any]
) -> None:
    """An attack by values sees a set of rows. The one on the order itself differs, and two draw people at random."""
    rng = np.random.default_rng(2)
    original = {
        "name": [f"p{i}" for i in range(40)],
        "age": rng.integers(20, 60, 40).tolist(),
        "zip": rng.choice(["100", "200"], 40).tolist(),
        "illness": rng.choice(["flu", "cold"], 40).tolist(),
    }
    masks = [{"age": {"bucketize": {"width": 10}}}] * 2
    table = {**original, "age": [f"[{a // 10 * 10}, {a // 10 * 10 + 10})" for a in original["age"]], "name": ["*"] * 40}
    order = rng.permutation(40)
    moved = {key: [values[i] for i in order] for key, values in table.items()}
    turned = {key: values[::-1] for key, values in original.items()}
    before = find(name, stage(original, table, moved, masks=masks))
    after = find(name, stage(turned, moved, table, masks=masks))
    assert (before.singled_out, before.right, before.baseline) == (after.singled_out, after.right, after.baseline)


def test_what_cannot_be_checked_counts_as_right() -> None:
    made = Attack(name="x", knows="everything that there is to know", run=lambda _: NotApplicable(reason="none"))
    claims = Claims(people=10, singled_out=4, right=None, baseline=0.0)
    result = AttackResult.of(made, claims, releases=("r",), releases_seen=1, limit=0.3)
    assert (result.right, result.exposed_share, result.exceeded) == (None, 0.4, True)
    skipped = AttackResult.of(made, NotApplicable(reason="no"), releases=("r",), releases_seen=1, limit=0.0)
    assert not skipped.exceeded


def test_chance_is_not_exposure_for_an_attack_that_guesses() -> None:
    made = Attack(name="x", knows="a coin", run=lambda _: NotApplicable(reason="none"), statistical=True)
    lucky = AttackResult.of(
        made, Claims(people=20, singled_out=20, right=12, baseline=0.5), releases=(), releases_seen=1, limit=0.0
    )
    assert (lucky.exposed_share, lucky.exceeded) == (0.0, False)
    sure = AttackResult.of(
        made, Claims(people=200, singled_out=200, right=180, baseline=0.5), releases=(), releases_seen=1, limit=0.0
    )
    assert sure.exceeded


def test_the_threat_model_says_of_every_attack_what_it_knows() -> None:
    page = (Path(__file__).parents[3] / "docs" / "concepts" / "threat-model.md").read_text(encoding="utf-8")
    assert [name for name in ATTACKS if f"| `{name}` |" not in page] == []
