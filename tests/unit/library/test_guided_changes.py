"""What each column becomes: made-up examples show what the release does to a value like them."""

from __future__ import annotations

import pyarrow as pa

from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.library.guided.changes import changes
from aegis.library.tables.masked_data import masked_data
from aegis.masking.configuration import Configuration
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.limits import TopCode
from aegis.masking.masks.noise import AddLaplaceNoise
from aegis.masking.masks.suppress import Suppress

COLUMNS = ("age", "weight", "height", "town")
ROLES = Roles(label="y", quasi_identifying=COLUMNS)


def test_a_mask_that_reads_the_table_has_an_example_as_the_release_would_have_it() -> None:
    rows = range(90)
    dataset = open_dataset(
        pa.table(
            {
                "age": [18 + row % 60 for row in rows],
                "weight": [50 + row % 41 for row in rows],
                "height": [150.0 + row % 31 for row in rows],
                "town": [f"t{row % 7}" for row in rows],
                "y": ["uv"[row % 2] for row in rows],
            }
        )
    )
    masks = {
        "age": Bucketize(count=4),
        "weight": Bucketize(quantiles=3),
        "height": AddLaplaceNoise(scale=2.0),
        "town": Suppress(),
    }
    found = {each.column: each for each in changes(dataset, ROLES, Configuration(name="c", masks=masks))}
    released = masked_data(dataset, {name: masks[name] for name in ("age", "weight")}).dataset.table.to_pyarrow()
    for name in ("age", "weight"):
        example = found[name].example
        assert example is not None, name
        value, becomes = example
        raw = dataset.table.to_pyarrow()[name].to_pylist()
        assert becomes == released[name].to_pylist()[raw.index(int(value))]
    assert found["height"].example is None, "what is drawn is drawn once, for the release"
    assert found["town"].example is None
    assert found["y"].becomes == "as it is"


def test_a_column_that_shows_one_value_everywhere_is_said_to_show_nothing() -> None:
    """Three in four have one dependent: whoever is cut off there is like all others."""
    rows = range(80)
    dataset = open_dataset(
        pa.table({"dependents": [2 if row % 8 == 0 else 1 for row in rows], "age": [20 + row % 60 for row in rows]})
    )
    masks = {"dependents": TopCode(quantile=0.75), "age": TopCode(quantile=0.75)}
    roles, configuration = Roles(quasi_identifying=("dependents", "age")), Configuration(name="c", masks=masks)
    found = {each.column: each.becomes for each in changes(dataset, roles, configuration)}
    assert found["dependents"].endswith("the same in every row, so it shows nothing any more")
    assert "nothing" not in found["age"]
