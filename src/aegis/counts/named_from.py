"""From how many rows on a value may be named, where several rows may belong to one person.

Counts of a single column do not say how many people have a value. The people with the most rows bound it: more rows
than one fewer than `FEWEST` of them have together belong to `FEWEST` people or more, whoever they are.
"""

from __future__ import annotations

import ibis
import numpy as np

from aegis.counts.answer import ask, plain
from aegis.counts.collect_classes import PERSON
from aegis.counts.disclosure_rule import FEWEST, STEP
from aegis.data.dataset import Dataset

_COUNT = "_aegis_count"


def named_from(dataset: Dataset, unit: str | None) -> int:
    """The fewest rows that no fewer than `FEWEST` people can have; 0, no bound of its own, where records are counted.

    It is a multiple of `STEP`, so that it tells of nobody how many rows are theirs.
    """
    if unit is None:
        return 0
    dataset.schema.check(unit)
    person = PERSON if PERSON in dataset.table.columns else unit
    people = dataset.table.group_by(person).aggregate(**{_COUNT: ibis._.count()})
    answer = ask(people.order_by(ibis.desc(_COUNT)).limit(FEWEST - 1))
    rows = 1 + int(np.asarray(plain(answer[_COUNT]), dtype=np.int64).sum())
    return STEP * -(-rows // STEP)
