"""The quick count of what a release has to hide beside earlier releases never exceeds what judging it finds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.candidates.search.gate import KnownParts
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.masking.configuration_file import configurations_from_mapping
from aegis.masking.transition import Partition
from aegis.privacy.policy import Policy
from aegis.privacy.together import HELD, KNOWN_CLASS, STARRED, judge_together
from aegis.ranking.verdicts import partitions_of


def _table(known: list[int], shown: list[int]) -> ClassTable:
    frame = pd.DataFrame({"a": shown, KNOWN_CLASS: known})
    return count_classes(aegis.open_dataset(frame), ("a", KNOWN_CLASS))


def _policy(**given: object) -> Policy:
    return Policy.from_mapping({"quasi_identifying": ["a"], "k": 3, **given})


def must_be_hidden(table: ClassTable, policy: Policy, partitions: Mapping[str, Partition] | None = None) -> int:
    parts = KnownParts.of(table, policy)
    return 0 if parts is None else parts.must_be_hidden(partitions or {})


def test_small_parts_of_known_classes_count_and_whole_ones_and_newcomers_do_not() -> None:
    known = [1] * 5 + [2] * 2 + [0] * 2
    shown = [7, 7, 7, 8, 8, 9, 9, 7, 8]
    assert must_be_hidden(_table(known, shown), _policy()) == 2
    assert must_be_hidden(_table(known, shown), _policy(k=4)) == 5
    assert must_be_hidden(_table(known, shown), _policy(k=1)) == 0


def test_where_recipients_hold_different_things_nothing_is_said() -> None:
    table = _table([1, 1, 1, 2, 2, 2], [7, 7, 8, 8, 7, 7])
    assert must_be_hidden(table, _policy()) == 6
    assert KnownParts.of(table, _policy(), apart=True) is None


@pytest.mark.parametrize("seed", range(6))
def test_masks_that_are_not_on_yet_count_as_if_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 6, 80) for name in ("a", "b")})
    frame[KNOWN_CLASS] = rng.integers(0, 3, 80)
    table = count_classes(aegis.open_dataset(frame), ("a", "b", KNOWN_CLASS))
    policy = Policy.from_mapping({"quasi_identifying": ["a", "b"], "k": 4})
    for masks in ({"a": "suppress"}, {"a": {"bucketize": {"width": 3}}, "b": {"bucketize": {"width": 2}}}):
        partitions = partitions_of(configurations_from_mapping(masks, name="m")[0], table)
        assert partitions is not None
        hidden = must_be_hidden(table, policy, partitions)
        assert hidden == must_be_hidden(table.merged(partitions), policy)
        assert hidden <= must_be_hidden(table, policy), "what finer masks show has to be hidden at least as much"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("suppressed", ["judged", "exempt", "dropped"])
def test_it_is_no_more_than_what_judging_hides(seed: int, suppressed: str) -> None:
    rng = np.random.default_rng(seed)
    table = _table(rng.integers(0, 4, 60).tolist(), rng.integers(0, 5, 60).tolist())
    policy = _policy(max_suppression=1, suppressed=suppressed)
    judged = judge_together(table, policy)
    known = table.domains[-1].values.astype(int)[table.codes[:, -1]] > 0
    hidden = int(table.sizes[((judged.treatment == STARRED) | (judged.treatment == HELD)) & known].sum())
    least = must_be_hidden(table, policy)
    if judged.satisfied:
        assert least <= hidden
    strict = _policy(max_suppression=(least - 1) / 60 if least else 0, suppressed=suppressed)
    if least:
        assert not judge_together(table, strict).satisfied
