"""Configurations: content ids, differences, and the file formats."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Column, Roles, Schema
from aegis.errors import ConfigurationError, InputError, MaskError
from aegis.masking.catalogue import catalogue, form_masks
from aegis.masking.configuration import Configuration, build_mask, mask_aliases
from aegis.masking.configuration_file import (
    configurations_from_mapping,
    load_configurations,
    many_to_mapping,
    save_configurations,
    to_mapping,
)
from aegis.masking.mask import MASKS
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.ranges import Ranges
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Chain

DEGREES = Hierarchy.of([["BSc", "higher", "*"], ["MSc", "higher", "*"], ["9th", "school", "*"]])
SPECS: list[Any] = [
    "suppress",
    "identity",
    {"bucketize": {"width": 10}},
    {"bucketize": {"edges": [1, 2.5]}},
    {"round": {"step": 0.5}},
    [{"round": {"step": 5}}, {"top_code": {"at": 90}}],
    {"regroup": {"groups": {"a": ["x", "y"], "b": ["z"]}}},
    {"randomize": {"epsilon": 1.5}},
    {"pseudonym": {"key_file": "key.txt"}},
    {"date_truncate": {"unit": "year"}},
    {"generalize": {"level": 1, "hierarchy": [list(row) for row in DEGREES.rows]}},
]
CONFIGURATIONS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8),
    st.sampled_from(SPECS),
    min_size=1,
    max_size=6,
).map(lambda specs: Configuration.of("c", specs))


@given(CONFIGURATIONS)
def test_what_is_written_is_read_back(configuration: Configuration) -> None:
    written = to_mapping(configuration)
    for content in (json.loads(json.dumps(written)), yaml.safe_load(yaml.safe_dump(written))):
        (again,) = configurations_from_mapping(content, name="other")
        assert again == configuration
        assert again.id == configuration.id
        assert again.name == "c"
        assert dict(again.masks) == dict(configuration.masks)


@given(CONFIGURATIONS, st.randoms(use_true_random=False))
def test_the_id_depends_on_content_alone(configuration: Configuration, random: Any) -> None:
    items = list(configuration.masks.items())
    random.shuffle(items)
    again = Configuration(name="renamed", masks=dict(items), label="y")
    assert again.id == configuration.id
    assert configuration.diff(again) == []


@given(CONFIGURATIONS)
def test_it_travels_between_processes(configuration: Configuration) -> None:
    again = pickle.loads(pickle.dumps(configuration))
    assert again == configuration
    assert again.name == configuration.name
    with pytest.raises(TypeError):
        again.masks["other"] = Suppress()


def test_ids_are_the_same_on_every_machine() -> None:
    assert Configuration.of("a", {"age": {"bucketize": {"width": 10.0}}}).id == "e207cc6aa2c2"
    assert Configuration.of("a", {"age": {"bucketize": {"width": 10}}, "zip": "identity"}).id == "e207cc6aa2c2"


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_two_configurations_differ_exactly_when_their_ids_do(one: Configuration, two: Configuration) -> None:
    assert (one.id == two.id) == (one == two) == (not one.diff(two))


def test_the_id_depends_on_the_hierarchy() -> None:
    other = Hierarchy.of([["BSc", "degree", "*"], ["MSc", "degree", "*"], ["9th", "none", "*"]])
    ids = {
        Configuration(name="c", masks={"education": Generalize(level=1, hierarchy=hierarchy)}).id
        for hierarchy in (DEGREES, other, Hierarchy.of(reversed(DEGREES.rows)))
    }
    assert len(ids) == 2, "the order of its lines does not matter, its labels do"


def test_two_hierarchies_of_one_column_keep_their_own_names() -> None:
    other = Hierarchy.of([["BSc", "degree", "*"], ["MSc", "degree", "*"], ["9th", "none", "*"]])
    both = [
        Configuration(name=name, masks={"education": Generalize(level=1, hierarchy=hierarchy)})
        for name, hierarchy in (("a", DEGREES), ("b", other), ("c", DEGREES))
    ]
    content = many_to_mapping(both)
    assert sorted(content["hierarchies"]) == ["education", "education-2"]
    assert configurations_from_mapping(content, name="x") == both


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "mild.yaml").write_text("age: {bucketize: {width: 5}}\nzip: {star_trailing: {characters: 2}}\n")
    (tmp_path / "strong.json").write_text('{"masks": {"age": "suppress"}, "label": "y", "roles": {"sensitive": ["y"]}}')
    (tmp_path / "many.yml").write_text(
        "label: y\nconfigurations:\n  one: {age: suppress}\n  two: {masks: {age: [round: {step: 5}, suppress]}}\n"
    )
    (tmp_path / "notes.txt").write_text("not a configuration")
    loaded = {c.name: c for c in load_configurations(tmp_path)}
    assert list(loaded) == ["one", "two", "mild", "strong"]
    assert loaded["strong"].roles == Roles(sensitive=("y",))
    assert {loaded[name].label for name in ("one", "two", "strong")} == {"y"}
    assert isinstance(loaded["two"]["age"], Chain)
    assert loaded["one"] == loaded["strong"]
    for name in ("out.yaml", "out.json"):
        save_configurations(loaded.values(), tmp_path / name)
        assert {c.name: c.id for c in load_configurations(tmp_path / name)} == {n: c.id for n, c in loaded.items()}


def test_a_hierarchy_comes_from_the_folder_the_file_or_the_caller(tmp_path: Path) -> None:
    (tmp_path / "hierarchies").mkdir()
    DEGREES.write(tmp_path / "hierarchies" / "people_hierarchy_education.csv")
    DEGREES.write(tmp_path / "mine.csv")
    (tmp_path / "a.yaml").write_text("education: {generalize: {level: 1}}\n")
    (tmp_path / "b.yaml").write_text("degree: {generalize: {level: 1, hierarchy: mine.csv}}\n")
    (tmp_path / "c.yaml").write_text("degree: {generalize: {level: 1, hierarchy: education}}\n")
    (tmp_path / "d.yaml").write_text("schooling: {generalize: {level: 1}}\n")
    loaded = load_configurations(tmp_path, hierarchies={"schooling": DEGREES})
    masks = [next(iter(c.masks.values())) for c in loaded]
    assert masks == [Generalize(level=1, hierarchy=DEGREES)] * 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column: mask"),
        ("- a\n- b\n", "column: mask"),
        ("age: [", "not valid YAML"),
        ("age: suppress\nage: nullify\n", "key twice"),
        ("age: {sort: {}}", "no mask called 'sort'"),
        ("age: {bucketize: {width: -1}}", "'age'.*above 0"),
        ("age: {bucketize: 10}", "parameter: value"),
        ("age: 3", "written as a name"),
        ("age: {generalize: {level: 1, hierarchy: absent.csv}}", "'absent.csv'"),
        ("{aegis: 2, masks: {age: suppress}}", "newer"),
        ("{masks: {age: suppress}, colour: red}", "colour"),
        ("{masks: {age: suppress}, label: [y]}", "label"),
        ("{masks: {age: suppress}, roles: {secret: [y]}}", "secret"),
        ("{configurations: [a]}", "configurations"),
        ("{configurations: {a: suppress}}", "'a'"),
        ("{masks: {a: {generalize: {level: 1}}}, hierarchies: {a: [[x, '*'], [y]]}}", "'a'.*fields"),
        ("masking: {attributes: {age: [{function: sort}]}}", "'age'"),
        ("masking: {attributes: {age: [{function: generalize, params: {M: 0}}]}}", "count"),
        ("age: {pseudonym: {key: sesame-sesame-sesame}}", "never stands in a configuration"),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_it(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_configurations(path)
    assert "bad.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_bad_places(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no configurations"):
        load_configurations(tmp_path)
    with pytest.raises(ConfigurationError, match="no file or folder"):
        load_configurations(tmp_path / "absent")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ConfigurationError, match="line 1"):
        load_configurations(tmp_path)
    (tmp_path / "a.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_configurations(tmp_path)


def test_two_of_one_name_are_an_error(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.json"):
        (tmp_path / name).write_text('{"age": "suppress"}')
    with pytest.raises(ConfigurationError, match="'a'"):
        load_configurations(tmp_path)


def test_the_published_format(tmp_path: Path) -> None:
    (tmp_path / "m1.yaml").write_text(
        """
dataset: {original_path: data/income.csv, target_variable: income}
masking:
  attributes:
    age: [{function: generalize, params: {M: 3}}]
    weight: [{function: erase_digits, params: {num_digits: 1}}, {function: generalize, params: {M: 2}}]
    zip: [{function: suppress, params: {}}]
    race: []
"""
    )
    (configuration,) = load_configurations(tmp_path / "m1.yaml")
    assert configuration.name == "m1"
    assert configuration.label == "income"
    assert configuration["age"] == Ranges(count=3)
    assert configuration["weight"].describe() == "last 1 digit set to zero, then 2 ranges of whole numbers"
    assert configuration["zip"] == Suppress()
    assert configuration.columns == ("age", "weight", "zip")


def published_ranges(low: int, high: int, count: int, value: int) -> str:
    """Straight from the definition, value by value."""
    size, rest = divmod(high - low, count)
    start, label = low, ""
    for i in range(count):
        end = start + size + (1 if i < rest else 0)
        label = f"{start}:{end}"
        if start <= value <= end:
            return label
        start = end + 1
    return label


@given(st.integers(-50, 50), st.integers(0, 100), st.integers(1, 20), st.lists(st.integers(-300, 300), min_size=1))
def test_ranges_are_those_of_the_published_prototype(low: int, spread: int, count: int, values: list[int]) -> None:
    mask = Ranges(count=count, low=low, high=low + spread)
    expected = [published_ranges(low, low + spread, count, value) for value in values]
    assert mask.on_values(np.array(values)).tolist() == expected


def test_a_configuration_is_checked_against_a_table() -> None:
    schema = Schema(columns=(Column(name="age", kind=Kind.INTEGER), Column(name="city", kind=Kind.TEXT)))
    Configuration.of("c", {"age": {"round": {"step": 5}}}).check(schema)
    with pytest.raises(MaskError, match="'city'"):
        Configuration.of("c", {"city": {"round": {"step": 5}}}).check(schema)
    with pytest.raises(ConfigurationError, match="'height'"):
        Configuration.of("c", {"height": "suppress"}).check(schema)
    with pytest.raises(MaskError, match="needs a hierarchy"):
        Configuration.of("c", {"city": {"generalize": {"level": 1}}}).check(schema)


@pytest.mark.parametrize("alias", mask_aliases())
def test_aliases_mean_masks(alias: str) -> None:
    mask = mask_aliases()[alias]
    assert alias not in MASKS
    sets = mask.aliases[alias]
    example = {k: v for k, v in mask.example_parameters.items() if k not in sets}
    assert build_mask({alias: example}).name == mask.name
    for fixed in sets:
        with pytest.raises(MaskError, match=fixed):
            build_mask({alias: {**example, fixed: 1}})


def test_the_warehouse_words_are_known() -> None:
    words = ["bucketize", "generalize_date", "blur", "round", "add_laplace_noise", "sha256", "nullify", "last_four"]
    assert all(word in MASKS or word in mask_aliases() for word in [*words, "email_mask", "date_year"])


def test_the_catalogue_lists_every_mask_with_an_example_that_builds() -> None:
    rows = {row.name: row for row in catalogue()}
    assert set(rows) == set(MASKS)
    for row in rows.values():
        assert build_mask(row.example_spec).name == row.name
        assert row.summary.endswith(".")
        assert row.kinds
    assert rows["round"].signature == "step"
    assert rows["pseudonym"].aliases == ("hmac", "sha256")


@pytest.mark.parametrize("kind", list(Kind))
def test_a_form_offers_what_fits_and_what_is_typed_into_it_builds(kind: Kind) -> None:
    offered = form_masks(kind, has_hierarchy=False)
    assert {"suppress", "nullify", "shuffle"} <= set(offered)
    assert not {"identity", "pseudonym", "generalize"} & set(offered)
    for row in offered.values():
        typed = {field.name: field.example for field in row.form_fields}
        if row.name == "regroup":  # the groups are those of the column at hand
            typed["groups"] = "{south: [it, es], north: [se]}"
        mask = build_mask(row.spec_from_form(typed))
        assert mask == build_mask(row.example_spec)


def test_a_form_knows_what_a_field_may_hold() -> None:
    masks = form_masks(Kind.DATE, has_hierarchy=True)
    (unit,) = masks["date_truncate"].form_fields
    assert unit.required
    assert unit.choices == ("year", "quarter", "month", "week", "day")
    (level,) = masks["generalize"].form_fields  # the hierarchy is that of the column
    assert (level.number, level.whole, level.least) == (True, True, 0)
    with pytest.raises(MaskError, match="cannot be read"):
        masks["generalize"].spec_from_form({"level": "[&a 1, *a]"})


def test_a_chain_ends_where_meaning_ends() -> None:
    assert build_mask([{"round": {"step": 5}}, "token"]).kind_after(Kind.INTEGER) is Kind.TEXT
    with pytest.raises(MaskError, match="last in a chain"):
        build_mask(["token", {"star_trailing": {"characters": 1}}])
    with pytest.raises(InputError):
        build_mask([])


SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/configuration.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)  # made once: `jsonschema.validate` checks it at every call


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_is_written_follows_the_documented_schema(one: Configuration, two: Configuration) -> None:
    VALIDATOR.validate(to_mapping(one))
    second = Configuration(name="d", masks=two.masks, label="y", roles=Roles(sensitive=("s",)))
    VALIDATOR.validate(many_to_mapping([one, second]))


@pytest.mark.parametrize(
    "content", [{}, {"masks": {"a": 3}}, {"masks": {}, "colour": 1}, {"configurations": {}}, {"a": 3}, {"a": {"x": 3}}]
)
def test_the_schema_refuses_what_the_reader_refuses(content: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(content)
    with pytest.raises(ConfigurationError):
        configurations_from_mapping(content, name="c")


def test_the_configurations_of_the_documentation_are_valid() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/write-configurations.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        content = yaml.safe_load(block)
        VALIDATOR.validate(content)
        assert configurations_from_mapping(content, name="c")
