"""Local recoding as an estimator beside the others: fit it to records or to counts, then transform."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aegis.arrays import Ints
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.growing import Grown, check_possible, grow_boxes
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.clusters.anonymizer import Anonymizer, check_feasible, check_parameters
from aegis.candidates.clusters.information_loss import centers_of
from aegis.candidates.clusters.outcome import THRESHOLDS, Anonymized, Risk, measure_risk, outcome_of, risk_before
from aegis.candidates.clusters.records import Records, collapse, columns_by_name, in_kind_of
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain, show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError
from aegis.privacy.judgement import Judgement
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis.progress import Progress

UNNAMED = "y"
"""The label that comes without a name."""


class LocalRecoding(Anonymizer):
    """Boxes that satisfy a policy, cut where the labels gain most.

    Give ``k`` (and ``l``, a number of values of each sensitive attribute) or a ``policy``, or both. ``growth`` says how
    boxes are grown; without one the way is chosen on which learners do best with records held out, where
    ``label_weight`` fixes how much the label counts against the width of intervals and sets, 0 to 1. Categories with a
    hierarchy are put in its order; with ``by_branch`` boxes hold whole branches of it.

    It is fitted to `Records`, or as scikit-learn fits a transformer: to a DataFrame (or a mapping from names to values)
    whose columns are all quasi-identifiers, with the label as ``y``. In a pipeline `ReleasedFeatures` follows it.

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0])
    >>> LocalRecoding(k=2).fit_transform(records)["n0"].tolist()
    ['(-inf, 6)', '(-inf, 6)', '[6, inf)', '[6, inf)']
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        l: int = 1,
        policy: Policy | None = None,
        growth: Growth | None = None,
        label_weight: float | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        by_branch: bool = False,
        random_state: int = 0,
    ) -> None:
        if k is None and policy is None:
            raise AnonymizerError("boxes need k or a policy; give one of them")
        if l > 1 and policy is not None:
            raise AnonymizerError("a policy says itself how many sensitive values a box needs; leave l out")
        if growth is not None and label_weight is not None:
            raise AnonymizerError("a growth has its own weight of the label; give one of them")
        if by_branch and hierarchies is None:
            raise AnonymizerError("cuts between the branches of hierarchies need hierarchies; give some")
        check_parameters(k=1 if k is None else k, l=l)
        if label_weight is not None:
            Growth(label_weight=label_weight)  # says what it may be
        self.k = k
        self.l = l
        self.policy = policy
        self.growth = growth
        self.label_weight = label_weight
        self.by_branch = by_branch
        self.hierarchies = hierarchies
        self.random_state = random_state
        self._columns: dict[str, list[Any]] | None = None
        self._given: Any = None

    def fit(
        self,
        records: Records | Any,
        y: ArrayLike | None = None,
        *,
        labels: Mapping[str, ArrayLike] | None = None,
        progress: Progress | None = None,
    ) -> LocalRecoding:
        """Cut the records into boxes; ``labels`` are columns as long as the records, ``y`` is one without a name."""
        if y is not None:
            labels = {**(labels or {}), UNNAMED: y}
        if not isinstance(records, Records):
            self._given = records
            columns = columns_by_name(records)
            rows = len(next(iter(columns.values()), ()))
            if any(len(np.asarray(column)) != rows for column in (labels or {}).values()):
                raise AnonymizerError(f"a label needs one value for each of the {rows:,} records")
            return self._fit_columns(columns, labels or {}, progress)
        self._columns = None
        if self.k is not None:
            check_feasible(records, collapse(records), k=self.k, l=self.l, classes=None)
        domains, codes = _coded(records)
        contents = {
            name: (_coded_column(column.tolist())[0], column)
            for name, column in zip(records.sensitive_names, records.sensitive.T, strict=True)
        }
        contents |= {name: _coded_column(np.asarray(column).tolist()) for name, column in (labels or {}).items()}
        table = ClassTable.from_codes(
            columns=records.quasi_identifiers,
            domains=domains,
            codes=codes,
            counts=np.ones(len(records), dtype=np.int64),
            contents=contents,
        )
        began = time.perf_counter()
        self.fit_counts(table, labels=tuple(labels or ()), progress=progress)
        box = self._grown.boxes.box_of(domains, codes)
        self._labels = self._seen(box)
        self._result = self._outcome(records, seconds=time.perf_counter() - began)
        self._records = records
        return self

    def fit_transform(
        self,
        records: Records | Any,
        y: ArrayLike | None = None,
        *,
        labels: Mapping[str, ArrayLike] | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Fit, and give what is published of the same records."""
        return self.fit(records, y, labels=labels, progress=progress).transform(records)

    def _fit_columns(
        self, columns: dict[str, list[Any]], labels: Mapping[str, ArrayLike], progress: Progress | None
    ) -> LocalRecoding:
        if self.l > 1:
            raise AnonymizerError("columns say nothing of sensitive attributes; fit Records, or leave l out")
        began = time.perf_counter()
        coded = [_coded_column(values) for values in columns.values()]
        codes = np.column_stack([codes for _, codes in coded])
        table = ClassTable.from_codes(
            columns=tuple(columns),
            domains=[domain for domain, _ in coded],
            codes=codes,
            counts=np.ones(len(codes), dtype=np.int64),
            contents={name: _coded_column(np.asarray(column).tolist()) for name, column in labels.items()},
        )
        self.fit_counts(table, labels=tuple(labels), progress=progress)
        self._result = self.outcome_of_counts(table, (), seconds=time.perf_counter() - began)
        self._labels = self._seen(self._grown.boxes.box_of([domain for domain, _ in coded], codes))
        self._columns = columns
        return self

    def fit_counts(self, table: ClassTable, *, labels: Sequence[str] = (), progress: Progress | None = None) -> Boxes:
        """Cut the tuples of a class table, whose contents hold the labels and the sensitive attributes, into boxes."""
        secrets = [name for name in table.contents if name not in labels]
        policy = k_and_l(self.k or 1, self.l, secrets) if self.policy is None else with_k(self.policy, self.k)
        check_possible(table, policy)
        growth = self.growth
        if growth is None:
            growth = (
                growth_for(
                    table, policy, labels[0], seed=self.random_state, label_weight=self.label_weight, progress=progress
                )
                if labels
                else None
            )
        self._grown = grow_boxes(
            table, policy, labels=labels, growth=growth, hierarchies=self.hierarchies, by_branch=self.by_branch
        )
        return self._grown.boxes

    def transform(self, records: Records | Any = None) -> Any:
        """What is published, rows in order: intervals and sets; of a data frame a frame of the same kind.

        Other records than the fitted ones fall into the same boxes; k and l are promises about the fitted ones only.
        """
        fitted = self._known()
        if self._columns is not None:
            columns = self._columns if records is None else columns_by_name(records)
            if tuple(columns) != tuple(self._columns):
                raise AnonymizerError("these rows have other columns than the fitted ones; give the same in that order")
            kinds = zip(columns.values(), fitted.boxes.columns, strict=True)
            coded = [_coded_column(values, text=not column.ordered) for values, column in kinds]
            box = fitted.boxes.box_of([domain for domain, _ in coded], np.column_stack([codes for _, codes in coded]))
            given = self._given if records is None else records
            return in_kind_of(given, fitted.boxes.published(box), output=self._output)
        if records is not None and records.quasi_identifiers != self._records.quasi_identifiers:
            raise AnonymizerError("these records have other quasi-identifiers than the fitted ones")
        domains, codes = _coded(self._records if records is None else records)
        return in_kind_of(records, fitted.boxes.published(fitted.boxes.box_of(domains, codes)), output=self._output)

    def _published_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._known().boxes.columns)

    @property
    def boxes_(self) -> Boxes:
        """The recoding."""
        return self._known().boxes

    @property
    def judgement_(self) -> Judgement:
        """What the policy says of the fitted boxes."""
        return self._known().judgement

    @property
    def labels_(self) -> Ints:
        """The published class of each record."""
        self._known()
        return self._labels

    @property
    def result_(self) -> Anonymized:
        """The outcome in numbers."""
        self._known()
        return self._result

    def outcome_of_counts(self, table: ClassTable, sensitive: Sequence[str], *, seconds: float,
                          thresholds: Sequence[float] = THRESHOLDS) -> Anonymized:  # fmt: skip
        """The outcome in numbers where boxes were fitted to counts."""
        records = _spelled_out(table, sensitive)
        self._labels = self._seen(np.repeat(self._known().box_of_tuple, table.sizes))
        before = measure_risk(
            np.repeat(np.arange(table.classes), table.sizes),
            records.sensitive,
            names=records.sensitive_names,
            thresholds=thresholds,
            persons=records.persons,
        )
        return self._outcome(records, seconds=seconds, thresholds=thresholds, before=before)

    def _known(self) -> Grown:
        if not hasattr(self, "_grown"):
            raise AnonymizerError("this LocalRecoding has not been fitted: call fit(records) first")
        return self._grown

    def _seen(self, box: Ints) -> Ints:
        """The classes that an attacker sees: all suppressed boxes are one."""
        boxes = self._grown.boxes
        starred = np.array([leaf.suppressed for leaf in boxes.boxes])
        return np.unique(np.where(starred[box], boxes.many, boxes.numbers[box]), return_inverse=True)[1].astype(
            np.int64
        )

    def _outcome(self, records: Records, *, seconds: float, thresholds: Sequence[float] = THRESHOLDS,
                 before: Risk | None = None) -> Anonymized:  # fmt: skip
        labels = self._labels
        rows = centers_of(records, labels).rows(labels)
        after = measure_risk(
            labels, records.sensitive, names=records.sensitive_names, thresholds=thresholds, persons=records.persons
        )
        return outcome_of(
            records,
            labels,
            rows,
            after,
            method="boxes",
            k=self.k or self._grown.judgement.smallest_class,
            l=self.l,
            classes=self._grown.boxes.many,
            scale="raw",
            seconds=seconds,
            before=before or risk_before(records, thresholds=thresholds),
        )


def with_k(policy: Policy, k: int | None) -> Policy:
    """A policy that asks for ``k`` records as well, where it does not ask for more itself."""
    own = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=0)
    if k is None or own >= k:
        return policy
    others = tuple(model for model in policy.models if not isinstance(model, KAnonymity))
    return replace(policy, models=(KAnonymity(k=k), *others))


def k_and_l(k: int, l: int, sensitive: Sequence[str]) -> Policy:
    """The policy of so many records a box and so many values of each sensitive attribute."""
    secrets = {"l": dict.fromkeys(sensitive, l)} if l > 1 and sensitive else {}
    return Policy.from_mapping({"k": k, **secrets})


def _coded(records: Records) -> tuple[list[Domain], Ints]:
    """The quasi-identifiers as domains and codes, in the order they were named."""
    domains, columns = [], []
    for name in records.quasi_identifiers:
        if name in records.numeric_names:
            numbers = records.numeric[:, records.numeric_names.index(name)]
            domain = Domain.of(Kind.REAL, numbers)
            domains.append(domain)
            columns.append(domain.codes(numbers))
        else:
            at = records.categorical_names.index(name)
            domain, code_of = _coded_column(records.categories[at].tolist(), text=True)
            domains.append(domain)
            columns.append(code_of[records.categorical[:, at]])
    return domains, np.column_stack(columns)


def _coded_column(values: list[Any], *, text: bool = False) -> tuple[Domain, Ints]:
    """Any values as a domain and codes: numbers as numbers unless ``text``, None and NaN as missing."""
    absent = [value is None or value != value for value in values]
    present = [value for value, gone in zip(values, absent, strict=True) if not gone]
    if not text and present and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        domain = Domain.of(Kind.REAL, present, missing=any(absent))
        place = {value: code for code, value in enumerate(domain.values.tolist())}
        codes = [len(domain.values) if gone else place[float(v)] for v, gone in zip(values, absent, strict=True)]
        return domain, np.array(codes, dtype=np.int64)
    domain = Domain.of(Kind.TEXT, sorted({show(value) for value in present}), missing=any(absent))
    at = {text: code for code, text in enumerate(domain.values.tolist())}
    codes = [len(domain.values) if gone else at[show(v)] for v, gone in zip(values, absent, strict=True)]
    return domain, np.array(codes, dtype=np.int64)


def _spelled_out(table: ClassTable, sensitive: Sequence[str]) -> Records:
    """The records that a class table counts, one by one; a missing number stands at the middle of its column."""
    sizes = table.sizes
    numeric, categorical, categories = {}, {}, []
    for at, (name, domain) in enumerate(zip(table.columns, table.domains, strict=True)):
        codes = np.repeat(table.codes[:, at], sizes)
        if domain.kind.is_number:
            values = domain.values.astype(np.float64)
            numeric[name] = np.append(values, [np.median(values)] * domain.missing)[codes]
        else:
            categorical[name] = codes
            categories.append(np.array([*map(show, domain.values.tolist()), *[None] * domain.missing], dtype=object))
    rows = int(sizes.sum())
    secrets = [np.repeat(table.contents[name].values, table.contents[name].counts) for name in sensitive]
    return Records(
        numeric=np.column_stack([*numeric.values()]) if numeric else np.empty((rows, 0)),
        categorical=np.column_stack([*categorical.values()]) if categorical else np.empty((rows, 0), dtype=np.int64),
        sensitive=np.column_stack(secrets) if secrets else np.empty((rows, 0), dtype=np.int64),
        numeric_names=tuple(numeric),
        categorical_names=tuple(categorical),
        sensitive_names=tuple(sensitive),
        categories=tuple(categories),
        quasi_identifiers=table.columns,
        persons=_spelled_out_people(table),
    )


def _spelled_out_people(table: ClassTable) -> Ints | None:
    """Whose each of these records is, tuple by tuple."""
    if table.people is None:
        return None
    order = np.argsort(table.people.owners, kind="stable")
    return np.repeat(table.people.persons[order], table.people.records[order])
