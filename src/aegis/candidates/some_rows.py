"""A candidate that is made on some rows of a sample: what these rows count, and what the policy asks of so few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.learners.sample import Sample
from aegis.learners.target import Places
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy


def classes_of_rows(sample: Sample, columns: tuple[str, ...], rows: Places, contents: tuple[str, ...]) -> ClassTable:
    """The class table of some rows of a sample, with the label and further contents."""
    coded_contents = {
        name: (sample.histograms[name].domain, sample.codes[name][rows].astype(np.int64))
        for name in contents
        if name != sample.label
    }
    return ClassTable.from_codes(
        columns=columns,
        domains=[sample.histograms[name].domain for name in columns],
        codes=np.column_stack([sample.codes[name][rows] for name in columns]).astype(np.int64),
        counts=np.ones(len(rows), dtype=np.int64),
        contents={**coded_contents, sample.label: (sample.label_domain, sample.label_codes[rows].astype(np.int64))},
        encoded=True,
    )


def policy_for_share(policy: Policy, share: float) -> Policy:
    """The policy for a share of the rows: k in proportion, at least two."""
    return replace(
        policy,
        models=tuple(
            KAnonymity(k=max(min(2, model.k), round(model.k * share))) if isinstance(model, KAnonymity) else model
            for model in policy.models
        ),
    )
