"""Made-up rows in the race: a synthesizer learns the training rows, its rows train, real rows test."""

from __future__ import annotations

import numpy as np

from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.declared import DeclaredValues, PublicDomain
from aegis.candidates.synthesis.measuring import Account, Promise, SeededNoise
from aegis.candidates.synthesis.synthesizer import Model, Settings, learn
from aegis.counts.answer import to_numpy
from aegis.counts.cells import Listed, numbers_of
from aegis.counts.marginals import CodesCounter
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Column
from aegis.errors import LabelError
from aegis.learners.candidate import Part
from aegis.learners.features import CodedColumn, Split, SplitColumn, as_numbers
from aegis.learners.sample import Sample
from aegis.learners.target import Codes, Places, Target

_POOL = 30_000


class SyntheticCandidate:
    """What a synthesizer makes under a budget. A part has fewer rows than the table, so its noise is in proportion.

    The noise is drawn by a seed: rows of a race are looked at by models and never leave.
    """

    kind = "synthetic"
    draws = 1

    def __init__(self, sample: Sample, *, epsilon: float, delta: float) -> None:
        if len(sample.label_domain.values) > 50:
            raise LabelError("made-up rows race for a label of at most 50 classes; cut it with --label-bins")
        self._sample = sample
        self._promise = Promise(epsilon=epsilon, delta=delta)
        self.name = f"synthetic-{epsilon:g}"

    def __repr__(self) -> str:
        return f"SyntheticCandidate({self.name})"

    def learnt(self, rows: Places, *, seed: int) -> Model:
        """A model of some rows of the sample."""
        sample = self._sample
        classes = len(sample.label_domain.values)
        codes = Domain.of(Kind.INTEGER, np.arange(classes))
        columns = {name: (sample.histograms[name].domain, column[rows]) for name, column in sample.codes.items()}
        columns[sample.label] = (codes, sample.label_codes[rows])
        whole = Account.of(self._promise, finds_values=True)
        scale = max(sample.table_rows / max(len(rows), 1), 1.0)
        account = Account(promise=self._promise, rho=whole.rho * scale**2, found_delta=whole.found_delta)
        rng = np.random.default_rng([sample.seed, seed])
        listed = DeclaredValues(values=tuple(range(classes)), missing=False)
        return learn(
            CodesCounter(columns),
            [Column(name=name, kind=domain.kind) for name, (domain, _) in columns.items()],
            label=sample.label,
            account=account,
            noise=SeededNoise(rng),
            public=PublicDomain(columns={sample.label: listed}),
            rng=rng,
            settings=Settings(pool=_POOL, least_pool=2_000),
        )

    def split(self, part: Part, *, draw: int) -> Split:
        sample = self._sample
        model = self.learnt(part.training, seed=part.number)
        rng = np.random.default_rng([sample.seed, part.number, 1])
        drawn = model.drawn_codes(len(part.training), rng)
        columns = [
            _column(attribute, drawn[attribute.name], sample, part.testing, rng) for attribute in model.attributes
        ]
        return Split(
            columns=tuple(columns),
            target=self._target(drawn[sample.label], part),
            test_rows=len(part.testing),
            real_test_rows=True,
        )

    def _target(self, labels: Places, part: Part) -> Target:
        if part.training_target.classes:
            return Target.of_classes(labels, part.training_target.classes)
        numbers = as_numbers(self._sample.label_domain)
        if numbers is None:
            raise LabelError("made-up rows of this label cannot be predicted as numbers")
        return Target.of_numbers(numbers[labels])


def _column(
    attribute: Attribute, codes: Places, sample: Sample, testing: Places, rng: np.random.Generator
) -> SplitColumn:
    """A made-up column beside the real values of the test rows, in one list of codes."""
    domain = sample.histograms[attribute.name].domain
    real: Codes = sample.codes[attribute.name][testing]
    if isinstance(attribute.column.cells, Listed):
        place = {value: code for code, value in enumerate(domain.values.tolist())}
        missing = domain.size - 1 if domain.missing else domain.size
        of_code = [missing if value is None else place.get(value, domain.size + 1) for value in attribute.values]
        described = CodedColumn.of(domain, more=2)
        return SplitColumn(described, training=np.array(of_code, dtype=np.int32)[codes], testing=real)
    present, values = to_numpy(attribute.drawn(codes, rng), domain.kind)
    made = np.full(len(codes), np.nan)
    made[present] = numbers_of(values, domain.kind)
    of_domain = numbers_of(domain.values, domain.kind)
    both = np.concatenate([of_domain, [np.nan] * domain.missing, made])
    described = CodedColumn(size=len(both), numbers=both)
    places = (domain.size + np.arange(len(codes))).astype(np.int32)
    return SplitColumn(described, training=places, testing=real)
