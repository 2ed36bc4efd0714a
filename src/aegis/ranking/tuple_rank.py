"""Rank releases of any kind side by side, by what their released tuples tell about the label.

A configuration of masks, a clustered table and a sanitized column have one thing in common: a class table. Its
leave-one-out information counts redundancy once, punishes tuples too rare to learn from, and cannot be fooled by a
column that borrows from the others, as single columns of a clustered table can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.masking.plural import count
from aegis.measures.leave_one_out import PRIOR_RECORDS
from aegis.ranking.ranking import RankedConfiguration, Ranking

MEASURE = "released-tuple-information"
_SURE = 1.96


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """Something that could be released: its name and the classes it would publish, with the label counted in them."""

    name: str
    id: str
    what: str
    table: ClassTable


def rank_tuples(
    candidates: Sequence[Candidate], original: ClassTable, *, label: str, rejected: dict[str, str]
) -> Ranking:
    """The candidates from best to worst; ``original`` is the unmasked table."""
    before, _ = tuple_information(original, label)
    told = [tuple_information(candidate.table, label) for candidate in candidates]
    utilities = np.array([bits for bits, _ in told])
    best = int(np.argmax(utilities))
    most = max(before, float(utilities[best]))
    rounded = np.round(utilities, 12)
    places = 1 + np.array([(rounded > one).sum() for one in rounded])
    ranking = []
    for i in sorted(range(len(candidates)), key=lambda i: (places[i], candidates[i].name)):
        candidate, (bits, error) = candidates[i], told[i]
        # Two releases of the same records: their errors go together, the larger one is the distance's at most twice.
        apart = _SURE * np.hypot(error, told[best][1])
        # Unmasked tuples are often too rare to tell anything: what is kept is a share of the most that is known.
        share = bits / most if most > 1e-12 else 1.0
        suppressed = f", {count(candidate.table.suppressed, 'record')} suppressed" if candidate.table.suppressed else ""
        ranking.append(
            RankedConfiguration(
                rank=int(places[i]),
                configuration=candidate.name,
                id=candidate.id,
                utility=bits,
                deviation=before - bits,
                retained=share,
                borrowed=False,
                interval=(before - bits - _SURE * error, before - bits + _SURE * error),
                like_best=bool(utilities[best] - bits <= apart + 1e-12),
                attributes=(),
                reasons=(f"{candidate.what} with {count(candidate.table.classes, 'class', 'classes')}{suppressed}",),
            )
        )
    return Ranking(
        label=label,
        measure=MEASURE,
        unit="bits",
        higher_is_better=True,
        reference="exact",
        rows=original.records,
        ranking=tuple(ranking),
        rejected=rejected,
        notes=(
            "ranked by the quasi-identifiers as they are released together; other columns are the same in all",
            "kept is the share of the most that any candidate, or the unmasked table, tells",
        ),
    )


def tuple_information(table: ClassTable, label: str) -> tuple[float, float]:
    """Leave-one-out bits that a released tuple tells about the label, never below 0, and their standard error."""
    counts = np.asarray(table.contents[label].dense(), dtype=np.float64)
    rows = counts.sum(axis=1, keepdims=True)
    total = rows.sum()
    prior = PRIOR_RECORDS * counts.sum(axis=0) / total
    ratio = (np.maximum(counts - 1.0, 0.0) + prior) / np.where(prior > 0, prior, 1.0)
    ratio = ratio * (PRIOR_RECORDS / (np.maximum(rows - 1.0, 0.0) + PRIOR_RECORDS))
    each = np.log2(ratio, where=counts > 0, out=np.zeros_like(ratio))
    mean = float((counts * each).sum() / total)
    variance = max(float((counts * each**2).sum() / total) - mean**2, 0.0)
    return max(mean, 0.0), float(np.sqrt(variance / total))
