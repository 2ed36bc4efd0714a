"""Sanitized candidates that the gate lets pass: what everything in the release says of the true values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP, AuditedColumn
from aegis.candidates.sanitizers.mechanism import CategoryMechanism
from aegis.counts.collect import count_table
from aegis.data.engine import open_dataset
from aegis.errors import VerificationError
from aegis.evaluation.sanitizing import Sanitizers, find_sanitizers
from aegis.learners.candidate import MaskedCandidate, MaskTables, Part
from aegis.library.advising import sanitized_kind
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate
from aegis.library.advising.racing import sample_of
from aegis.library.clinic import POLICY, columns
from aegis.library.ledgers.constraints import Constraints
from aegis.library.tables.judging import classes_of
from aegis.masking.configuration import Configuration
from aegis.privacy.policy import Policy
from aegis.ranking.verdicts import verdicts_on

ROWS = 1500
QUASI = ("age", "gender")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> CandidateInputs:
    """The clinic of the demo with its policy, fewer rows, two quasi-identifiers, no suppression."""
    drawn = columns(ROWS)
    names = (*QUASI, "visits", "smoker", "diagnosis", "health")
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    rows = zip(*(drawn[name] for name in names), strict=True)
    path.write_text("\n".join([",".join(names), *map(",".join, rows)]) + "\n", encoding="utf-8")
    rules = Policy.from_mapping({**POLICY, "quasi_identifying": list(QUASI), "max_suppression": 0})
    dataset = open_dataset(path)
    roles = rules.roles_in(dataset.schema, dataset.roles)
    counted = count_table(dataset, label="health", label_bins=None, continuous_bins=8, progress=None)
    sample = sample_of(dataset, counted, label_bins=None, seed=0)
    masks = {"age": {"bucketize": {"width": 20}}, "gender": "suppress"}
    base = Configuration.of("search", masks, label="health")
    verdict = verdicts_on([base], classes_of(dataset, rules, roles, contents=("health",)), rules)["search"]
    masked = MaskedCandidate(base, MaskTables(sample), quasi_identifiers=QUASI)
    # Masks that stand here: what a search finds in its seconds depends on how busy the machine is.
    found: dict[str, Sequence[MadeCandidate]] = {
        "search": [MadeCandidate(candidate=masked, verdict=verdict, reason="fixed")]
    }
    constraints = Constraints(dataset=dataset, policy=rules, roles=roles, hierarchies={})
    return CandidateInputs(constraints=constraints, sample=sample, shared=found)


@pytest.fixture(scope="module", autouse=True)
def fitted_once() -> Iterator[None]:
    """All tests look at one sample; a mechanism that is asked for twice is fitted once."""
    kept: dict[str, Sanitizers] = {}

    def find(columns: Any, **asked: Any) -> Sanitizers:
        if repr(asked) not in kept:
            kept[repr(asked)] = find_sanitizers(columns, **asked)
        return kept[repr(asked)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sanitized_kind, "find_sanitizers", find)
        yield


def test_what_passes_leaves_doubt_given_everything_in_the_release(
    inputs: CandidateInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized_kind, "SHARES", (0.1,))
    made = sanitized_kind.sanitized(inputs)
    assert [each.name for each in made] == ["sanitized-10"]
    sample = inputs.sample
    rows = np.arange(sample.rows)
    target = sample.target()
    part = Part(number=0, training=rows, testing=rows[:2], training_target=target, testing_target=target.at(rows[:2]))
    for each in made:
        # The verdict is of the true values in the masked classes: less leaves than what it lets pass.
        assert each.verdict.satisfied
        released = each.candidate.split(part, draw=0)
        shown = dict(zip(sample.codes, released.columns, strict=True))
        mechanism = each.candidate._mechanisms["diagnosis"]  # type: ignore[attr-defined]
        assert isinstance(mechanism, CategoryMechanism)
        truth = sample.codes["diagnosis"]
        values = sample.histograms["diagnosis"].domain.values
        assert tuple(map(str, values)) == mechanism.values
        drawn = mechanism.apply(values[truth], rng=np.random.default_rng(0))["diagnosis_released"]
        symbols, channel = np.array([int(symbol[1:]) for symbol in drawn]), mechanism.release
        prior = np.bincount(truth, minlength=len(channel)) / len(truth)
        # Who knows the mechanism and which row is whose, and with that the masked class.
        by_symbol = prior[:, None] * channel / (prior @ channel)
        certain = by_symbol[truth, symbols] >= 0.99
        assert certain.mean() <= CERTAIN_CAP
        # Who finds the class of a person and not the row: all symbols of the class are the person's alike.
        classes = np.unique(np.column_stack([shown[name].training for name in QUASI]), axis=0, return_inverse=True)[
            1
        ].ravel()
        sizes = np.bincount(classes)
        assert sizes.min() >= 5
        belief = np.zeros((len(sizes), len(channel)))
        np.add.at(belief, classes, by_symbol[:, symbols].T)
        belief /= sizes[:, None]
        assert belief.max() < 0.99, "no class says the value of its records"


def test_a_distortion_that_no_release_has_is_told_beside_those_that_one_has() -> None:
    note = "ill is not sanitized at 40 %: no release keeps posterior at most 0.98 within a distortion of 0.1"
    sanitizers = Sanitizers(
        private=("ill",), adversary=(), authorized=(), by_share={0.8: ()}, fitted={0.8: ()}, notes=(note,)
    )
    assert sanitized_kind._reason(sanitizers, 0.8).endswith(f"; {note}")


def test_the_reason_says_what_aegis_sanitize_would_refuse(
    inputs: CandidateInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized_kind, "SHARES", (0.1,))

    def refused(audited: AuditedColumn) -> None:
        raise VerificationError(f"the release of {audited.column} protects from nobody")

    monkeypatch.setattr("aegis.candidates.sanitizers.audited_column.refuse_unprotected", refused)
    (made,) = sanitized_kind.sanitized(inputs)
    assert "aegis sanitize would refuse it" in made.reason
