"""The JSON Schema of configurations and the program accept and refuse the same."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.errors import InputError, MaskError
from aegis.masking.catalogue import catalogue, configuration_schema
from aegis.masking.configuration import build_mask, mask_aliases
from aegis.masking.configuration_file import configurations_from_mapping
from aegis.masking.mask import MASKS, Mask
from aegis.masking.parameter import parameters_of

SCHEMA = configuration_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DOCUMENTED = Path(__file__).parents[3] / "docs/reference/configuration.schema.json"

# What no schema can say: an order between numbers, decimals, values named twice, which level a hierarchy has.
BEYOND = re.compile(
    "no calendar has|"
    "must rise|must not be above|decimals|too large|more than one group|must be distinct|has levels 0 to|"
    "come last in a chain|is not there|needs at least one value|do not have .* fields|more than once|fall apart|"
    "is named both|map the name of each group"
)
NUMBERS: list[Any] = [-1, 0, 0.5, 1, 3, 3.0, 10, 16, 64, 10_001, 2**60, 1e-3]
OTHERS: list[Any] = [None, True, "x", "year", "1e3", "", [], [1, 2], [2, 1], ["a", "b"], [None], {}, {"g": ["a"]}]
MORE: list[Any] = [{"g": "a"}, {"g": [None]}, [["g", ["a"]]], [["a", "*"], ["b", "*"]], [["a"], ["b", "*"]]]
VALUES = st.sampled_from([*NUMBERS, *OTHERS, *MORE])
ALIASES = mask_aliases()
NAMES = [*MASKS, *ALIASES]


def mask_of(name: str) -> type[Mask]:
    return ALIASES[name] if name in ALIASES else MASKS[name]


def names_of_parameters(name: str) -> list[str]:
    return [parameter.name for parameter in parameters_of(mask_of(name))]


@st.composite
def singles(draw: st.DrawFn) -> Any:
    """A mask as somebody might write it, rightly or wrongly."""
    name = draw(st.sampled_from([*NAMES, "vanish"]))
    if draw(st.booleans()):
        return name
    known = names_of_parameters(name) if name in NAMES else []
    keys = st.sampled_from([*known, "key", "colour"])
    return {name: draw(st.one_of(st.dictionaries(keys, VALUES, max_size=2), st.sampled_from([None, [], 3])))}


def agree(content: Any) -> None:
    """Raise unless both sides say the same of a configuration, apart from what a schema cannot say."""
    refused = refusal(content)
    if not VALIDATOR.is_valid(content):
        assert refused is not None, "the schema refuses what the program reads"
    elif refused is not None:
        assert BEYOND.search(refused), "the program refuses what the schema allows"


def refusal(content: Any) -> str | None:
    """What the program says against a configuration."""
    try:
        configurations_from_mapping(content, name="c")
    except InputError as error:
        return str(error)
    return None


@given(singles())
@settings(max_examples=600)
def test_every_mask_is_read_exactly_where_the_schema_allows_it(mask: Any) -> None:
    agree({"age": mask})


@given(st.lists(st.one_of(singles(), st.just(["suppress"])), max_size=3))
def test_lists_of_masks_too(masks: list[Any]) -> None:
    agree({"age": masks})


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_every_mask_alone(name: str) -> None:
    mask = mask_of(name)
    example = dict(mask.example_parameters)
    free = [key for key in names_of_parameters(name) if key not in mask.aliases.get(name, {})]
    for key, value in itertools.product(free, [*NUMBERS, *OTHERS, *MORE]):
        agree({"age": {name: {key: value}}})
        agree({"age": {name: {**example, key: value}}})


@pytest.mark.parametrize("row", catalogue(), ids=lambda row: row.name)
def test_the_example_of_every_mask_is_valid(row: Any) -> None:
    VALIDATOR.validate({"a": row.example_spec})
    build_mask(row.example_spec)


def _each(make: Callable[[Any], Any], *values: Any) -> list[Any]:
    return [make(value) for value in values]


FILES: list[Any] = [
    {},
    *_each(lambda v: {"masks": {}, "name": v}, "c", "", 3, None, True),
    *_each(lambda v: {"masks": {}, "aegis": v}, 1, 1.0, 2, True, None),
    *_each(lambda v: {"masks": {}, "label": v}, "y", None, 3, ["y"]),
    *_each(lambda v: {"masks": {}, "roles": v}, None, {}, [], "x", {"label": "y"}, {"label": None}, {"colour": "x"}),
    *_each(lambda v: {"masks": {}, "roles": {"sensitive": v}}, "a", ["a"], None, [3], 3),
    *_each(lambda v: {"masks": {}, "hierarchies": v}, None, {}, [], {"a": []}, {"a": [["x", "*"]]}, {"a": [[None]]}),
    *_each(lambda v: {"masks": v}, {}, {"a": "suppress"}, "suppress", ["suppress"], 3, None),
    {"masks": {}, "colour": 1},
    *_each(lambda v: {"configurations": v}, {}, [], None, {"c": {}}, {"c": {"a": "suppress"}}, {"c": {"masks": {}}}),
    *_each(lambda v: {"configurations": {"c": v}}, "suppress", {"configurations": "suppress"}, {"masks": {}, "x": 1}),
    *_each(lambda v: {"configurations": {"c": {}}, **v}, {"colour": 1}, {"label": "y", "aegis": 1}),
    *_each(lambda v: {"masking": v}, "suppress", {"suppress": None}, {"attributes": None}),
    *_each(lambda v: {"masking": {"attributes": v}}, [], "x", {"a": None}, {"a": []}, {"a": [None]}, {"a": [{}]}),
    *_each(lambda v: {"masking": {"attributes": {}}, "dataset": v}, None, {}, [], "x", {"target_variable": "y"}),
    *_each(lambda v: {"masking": {"attributes": {}}, "dataset": {"target_variable": v}}, None, 3, ["y"]),
    *_each(
        lambda v: {"masking": {"attributes": {"a": {"function": v}}}}, "suppress", "vanish", 3, None, [], "generalize"
    ),
]
PARAMS: list[Any] = [None, {}, [], {"M": 3}, {"M": 0}, {"M": 3.0}, {"M": "x"}, {"num_digits": 1}, {"count": 3}]


@pytest.mark.parametrize("content", FILES, ids=lambda content: json.dumps(content)[:60])
def test_the_forms_of_a_file(content: Any) -> None:
    agree(content)


@pytest.mark.parametrize("function", ["generalize", "erase_digits", "suppress"])
@pytest.mark.parametrize("params", PARAMS, ids=repr)
def test_the_published_format(function: str, params: Any) -> None:
    step = {"function": function, "params": params}
    agree({"masking": {"attributes": {"a": [step]}}})
    agree({"masking": {"attributes": {"a": step}}})


def test_the_published_example_is_valid() -> None:
    steps = [
        {"function": "generalize", "params": {"M": 3}},
        {"function": "erase_digits", "params": {"num_digits": 1}},
        {"function": "suppress", "params": {}},
    ]
    content = {"dataset": {"original_path": "x.csv", "target_variable": "y"}, "masking": {"attributes": {"a": steps}}}
    VALIDATOR.validate(content)
    (found,) = configurations_from_mapping({**content, "masking": {"attributes": {"a": steps[:1]}}}, name="c")
    assert found.label == "y"


@pytest.mark.parametrize(
    "mask", ["vanish", {"bucketize": {"width": -1}}, {"bucketize": {"breadth": 3}}, {"pseudonym": {"key": "secret"}}]
)
def test_what_the_program_refuses_the_schema_refuses(mask: Any) -> None:
    assert not VALIDATOR.is_valid({"a": mask})
    with pytest.raises(MaskError):
        build_mask(mask)


def test_the_documented_schema_is_that_of_the_program() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(DOCUMENTED.read_text(encoding="utf-8")) == SCHEMA


def test_a_number_that_yaml_took_for_text_is_explained() -> None:
    with pytest.raises(MaskError, match=r"1\.0e\+3"):
        build_mask({"bucketize": {"width": "1e300"}})
    with pytest.raises(MaskError, match=r"must be a number$"):
        build_mask({"bucketize": {"width": "ten"}})


def test_a_whole_number_may_have_a_point() -> None:
    assert build_mask({"bucketize": {"count": 3.0}}).spec() == {"bucketize": {"count": 3}}
