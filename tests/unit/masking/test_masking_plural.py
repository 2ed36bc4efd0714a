"""One thing is not several."""

from __future__ import annotations

import pytest

from aegis.errors import MaskError
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.suppress import Suppress


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (Regroup(groups={"all": ["a", "b"]}), "1 group of values"),
        (Regroup(groups={"one": ["a"], "two": ["b"]}), "2 groups of values"),
        (Bucketize(count=1), "1 bucket of equal width"),
        (Bucketize(quantiles=1), "1 bucket of equal frequency"),
        (Bucketize(quantiles=3), "3 buckets of equal frequency"),
    ],
)
def test_masks_describe_one_and_several(mask: Mask, said: str) -> None:
    assert mask.describe() == said


def test_one_column_and_one_value_are_singular() -> None:
    assert "1 column masked" in repr(Configuration(name="c", masks={"a": Suppress()}))
    with pytest.raises(MaskError, match="1 value is in more than one group"):
        Regroup(groups={"one": ["a"], "two": ["a"]})
