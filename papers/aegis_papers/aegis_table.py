"""Table 2 of the Aegis paper: what its data sets look like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aegis.counts.collect import Limits, count_histograms
from aegis.result import rebuilt
from aegis_papers.aegis_data import Table
from aegis_papers.reproduction import Claim, Section, Verdict
from aegis_papers.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A row of Table 2: numbers of rows and columns, and least, mean and most of three things."""

    rows: int
    categorical: int
    numerical: int
    domain_sizes: tuple[float, float, float]
    categories: tuple[float, float, float]
    ranges: tuple[float, float, float]


# As printed in Table 2, its columns put in order.
PAPER = {
    "AQ": Shape(
        rows=5_000,
        categorical=1,
        numerical=9,
        domain_sizes=(4, 141.78, 683),
        categories=(4, 4, 4),
        ranges=(3.0, 183.78, 769.0),
    ),
    "HCI": Shape(
        rows=10_000,
        categorical=10,
        numerical=15,
        domain_sizes=(5, 2428.40, 10_000),
        categories=(2, 657, 3245),
        ranges=(4.0, 1.43e9, 1.06e10),
    ),
    "IN": Shape(
        rows=32_561,
        categorical=9,
        numerical=6,
        domain_sizes=(16, 3673.67, 21_648),
        categories=(2, 11.56, 42),
        ranges=(15.0, 262_826.83, 1_472_420.0),
    ),
}

OTHER_FILES = ("HCI",)
"""Tables whose own file is not public: what is measured on ours is no repetition."""

_WHY = {
    "AQ": "The file has values with one or two decimals (up to 955 different ones in a column); the paper's figures "
    "are those of the file rounded to whole numbers. Everything below uses it so.",
    "HCI": "Not the same file: ours has as many rows and columns, but the paper's numbers span up to 10¹⁰ and ours "
    "65,024. What follows on this table is therefore a comparison of kind, not of cases.",
    "IN": "The question mark counts as a category, as in the paper.",
}


def _groups(shape: Shape) -> dict[str, tuple[float, ...]]:
    return {
        "rows, categorical and numerical columns": (shape.rows, shape.categorical, shape.numerical),
        "domain sizes of numerical columns: least, mean, most": shape.domain_sizes,
        "categories of categorical columns: least, mean, most": shape.categories,
        "ranges of numerical columns: least, mean, most": shape.ranges,
    }


def table_2(setting: Setting, tables: dict[str, Table]) -> Section:
    """The same statistics of our copies of the data."""
    claims: list[Claim] = []
    for name, table in tables.items():
        ours = rebuilt(Shape, setting.part(f"shape-{name}", partial(_statistics, table)))
        why = _WHY[name]
        for statistic, theirs in _groups(PAPER[name]).items():
            measured = _groups(ours)[statistic]
            same = all(_agree(a, b) for a, b in zip(theirs, measured, strict=True))
            claims.append(
                Claim(
                    what=f"{table.title}: {statistic}",
                    source="Table 2",
                    printed=_words(theirs),
                    as_printed=_words(measured),
                    verdict=Verdict.of(None if name in OTHER_FILES else same),
                    why=why if not same or statistic.startswith("domain") else "",
                )
            )
            if claims[-1].why:
                why = "" if same else "Another file."
    return Section(
        title="Table 2: the data sets",
        text="Columns that hold texts or dates are categorical, as is a label; the others are numerical.",
        claims=tuple(claims),
    )


def _statistics(table: Table) -> dict[str, Any]:
    """Every column counts, also those that name rows."""
    dataset = table.dataset
    whole = dataset.schema.names
    histograms = count_histograms(dataset, whole, limits=Limits(numbers=10**9, texts=10**9))
    sizes, categories, ranges = [], [], []
    for name in whole:
        domain = histograms[name].domain
        if dataset.schema.kind(name).is_number and name != table.label:
            numbers = np.asarray(domain.values, dtype=np.float64)
            sizes.append(len(numbers))
            ranges.append(float(numbers.max() - numbers.min()))
        else:
            categories.append(domain.size)
    return {
        "rows": table.counted.rows,
        "categorical": len(categories),
        "numerical": len(sizes),
        "domain_sizes": _spread(sizes),
        "categories": _spread(categories),
        "ranges": _spread(ranges),
    }


def _spread(values: list[Any]) -> tuple[float, float, float]:
    return float(min(values)), float(np.mean(values)), float(max(values))


def _agree(paper: float, ours: float) -> bool:
    """To the digits that are printed."""
    return abs(paper - ours) <= max(0.005001, 0.0035 * abs(paper) if abs(paper) > 1e8 else 0.0)


def _words(values: tuple[float, ...]) -> str:
    return " / ".join(_number(value) for value in values)


def _number(value: float) -> str:
    if value >= 1e8:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
