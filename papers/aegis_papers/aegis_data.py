"""The tables of the Aegis paper, its 50 configurations of each, and the sizes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.counts.collect import count_joints
from aegis.counts.joint import Histogram, Joint, TableCounts
from aegis.counts.summary import Summary, masked_counts
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.evaluation.coded_rows import CodedRows, read_rows
from aegis.evaluation.splits import SplitPlan
from aegis.library.clinic import columns
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate
from aegis_papers.setting import Setting

MEASURES = {"g3": "g3", "MI": "mutual-information", "χ²": "chi-square"}
"""The paper's names of its measures, and ours."""
MODELS = {
    "LR": "logistic-regression",
    "SVM": "kernel-svm",
    "RF": "random-forest",
    "NB": "naive-bayes",
    "SGD": "sgd",
}
"""The paper's names of its models, and ours."""
TWICE_UP_TO = 10_000
"""Tables of so many rows are split twice; the paper splits each once."""
MASKS = ("bucketize", "round", "regroup", "star_trailing", "suppress")
"""Bucketisation, blurring, generalisation and suppression (section 5.1.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table of the paper: where it lies, and what is known of it."""

    name: str
    title: str
    file: str
    label: str
    strength: str  # of its configurations, found by matching what the exhaustive way prints
    identifying: tuple[str, ...] = ()
    rounded: bool = False


SOURCES = (
    Source(
        name="AQ",
        title="Air Quality",
        file="air_quality/updated_pollution_dataset.csv",
        label="Air Quality",
        strength="heavy",
        rounded=True,
    ),
    Source(
        name="HCI",
        title="Customer–hotel interaction",
        file="hotel/expedia_interactions_10000.csv",
        label="is_booking",
        strength="heavy",
        identifying=("row_id", "user_id"),
    ),
    Source(name="IN", title="Income", file="adult/adult_train_32561.csv", label="income", strength="any"),
)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the paper, counted, with its configurations; rows come to the client where models are trained."""

    name: str
    title: str
    dataset: Dataset
    label: str
    strength: str
    configurations_wanted: int
    seed: int

    @cached_property
    def counted(self) -> TableCounts:
        return count_joints(self.dataset, label=self.label)

    @cached_property
    def rows(self) -> CodedRows:
        return read_rows(self.dataset, self.counted)

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        return configurations(
            self.counted.joints, strength=self.strength, count=self.configurations_wanted, seed=self.seed
        )

    @cached_property
    def summary(self) -> Summary:
        return self.summary_of(self.configurations)

    def summary_of(self, chosen: Sequence[Configuration], joints: Mapping[str, Joint] | None = None) -> Summary:
        """The counts under some configurations, of all rows and attributes or of the joints given."""
        joints_used = self.counted.joints if joints is None else joints
        return summary_of(self.name, self.label, joints_used, chosen)


def summary_of(name: str, label: str, joints: Mapping[str, Joint], chosen: Sequence[Configuration]) -> Summary:
    """The counts of some joints under some configurations."""
    first = next(iter(joints.values()))
    return masked_counts(
        name=name,
        label=label,
        label_histogram=Histogram(domain=first.label, counts=first.counts.sum(axis=0)),
        joints=joints,
        configurations=chosen,
    )


def configurations(joints: Mapping[str, Joint], *, strength: str, count: int, seed: int) -> tuple[Configuration, ...]:
    """The paper's kind of configurations, of our own making: its generator is not published with it."""
    histograms = {name: joint.histogram() for name, joint in joints.items()}
    generated = generate(
        histograms,
        count=count,
        strength=strength,
        masks=MASKS,
        rng=np.random.default_rng(seed),
        fewer_if_need_be=True,
    )
    return tuple(generated)


def tables(setting: Setting) -> dict[str, Table]:
    """The paper's three tables by its names for them; a quick run has three small clinics in their place."""
    tables = {}
    for place, source in enumerate(SOURCES):
        if setting.quick:
            clinic = open_dataset(_clinic(seed=setting.seed + place), roles=Roles(label="health"))
            dataset, label, title = clinic, "health", f"clinic in place of {source.title}"
        else:
            roles = Roles(label=source.label, identifying=source.identifying)
            dataset = open_dataset(
                _rounded(setting, source) if source.rounded else setting.file(source.file), roles=roles
            )
            label, title = source.label, source.title
        tables[source.name] = Table(
            name=source.name,
            title=title,
            dataset=dataset,
            label=label,
            strength=source.strength,
            configurations_wanted=4 if setting.quick else 50,
            seed=setting.seed,
        )
    return tables


def split_plan(setting: Setting, table: Table, *, splits: int | None = None) -> SplitPlan:
    """The paper's 70–30 split of all rows; twice where a table is small, unless a number of splits is given."""
    if setting.quick:
        return SplitPlan(splits=1, test_share=0.3, most_training_rows=150, most_test_rows=150, seed=setting.seed)
    own = 2 if table.rows.rows <= TWICE_UP_TO else 1
    return SplitPlan(splits=own if splits is None else splits, test_share=0.3, seed=setting.seed)


def joints_of(rows: CodedRows, keep: NDArray[np.int64]) -> dict[str, Joint]:
    """The joints of some of the rows."""
    labels = rows.label_domain.size
    joints = {}
    for name, domain in rows.domains.items():
        cells = rows.codes[name][keep] * labels + rows.label[keep]
        counts = np.bincount(cells, minlength=domain.size * labels).reshape(domain.size, labels)
        joints[name] = Joint(attribute=domain, label=rows.label_domain, counts=counts)
    return joints


def _rounded(setting: Setting, source: Source) -> Any:
    """A table with its numbers rounded to whole ones: what the paper's Table 2 describes."""
    import pyarrow as pa

    table = open_dataset(setting.file(source.file)).table.to_pyarrow()
    rounded = {
        name: pa.array(np.rint(table[name].to_numpy()).astype(np.int64))
        if pa.types.is_floating(table[name].type)
        else table[name]
        for name in table.column_names
    }
    return pa.table(rounded)


def _clinic(*, seed: int) -> Any:
    import pyarrow as pa

    drawn = columns(400, seed=seed)
    numbers = {name: [float(text) if text else None for text in drawn[name]] for name in ("age", "weight", "visits")}
    return pa.table({**numbers, **{name: drawn[name] for name in ("gender", "diagnosis", "smoker", "health")}})
