"""Random small tables for the tests of the search."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from aegis.candidates.search.gate import Gate
from aegis.candidates.search.masks import Chain
from aegis.candidates.search.objective import Objective
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy

NAMES = ("a", "b", "c", "d")


@st.composite
def tables(draw: st.DrawFn, *, labels: int = 2, missing: bool = False) -> ClassTable:
    """A few hundred records over two or three columns, a label "y" and a sensitive attribute "s"."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = draw(st.integers(2, 3))
    rows = draw(st.integers(5, 150))
    sizes = [draw(st.integers(2, 5)) for _ in range(columns)]
    domains = [
        Domain.of(Kind.INTEGER if c == 0 else Kind.TEXT, range(n) if c == 0 else [f"v{i}" for i in range(n)])
        for c, n in enumerate(sizes)
    ]
    if missing:
        domains[0] = Domain.of(Kind.INTEGER, range(sizes[0]), missing=True)
    codes = np.column_stack([rng.integers(0, domain.size, rows) for domain in domains])
    y = (codes[:, 0] + codes[:, 1] + rng.integers(0, 3, rows)) % labels
    y[:2] = 0, 1  # a label is never constant
    s = (codes[:, 1] + rng.integers(0, 2, rows)) % 3
    return ClassTable.from_codes(
        columns=NAMES[:columns],
        domains=domains,
        codes=codes,
        counts=rng.integers(1, 4, rows),
        contents={
            "y": (Domain.of(Kind.INTEGER, range(labels)), y),
            "s": (Domain.of(Kind.TEXT, ["p", "q", "r"]), s),
        },
    )


def hierarchies(table: ClassTable) -> dict[str, Hierarchy]:
    """Pairs of neighbours, then everything."""
    found = {}
    for column, domain in zip(table.columns, table.domains, strict=True):
        values = domain.values.tolist()
        found[column] = Hierarchy.of([[v, f"pair {i // 2}", "*"] for i, v in enumerate(values)])
    return found


def chains(table: ClassTable) -> list[Chain]:
    made = hierarchies(table)
    return [Chain.of_hierarchy(c, d, made[c]) for c, d in zip(table.columns, table.domains, strict=True)]


def gate(table: ClassTable, policy: Policy, measure: str = "leave-one-out-information") -> Gate:
    objective = Objective.of(measure, table.contents["y"].totals)
    return Gate.of(table, policy, label="y", objective=objective)


def nodes(made: list[Chain]) -> list[tuple[int, ...]]:
    return list(product(*(range(len(chain.levels)) for chain in made)))


MODELS = ("k: 2", "k: 5", "k: 3\nl: {s: 2}", "l: {s: 3}", "l: {s: {kind: entropy, l: 1.5}}", "t: {s: {t: 0.3}}\nk: 2")
POLICIES = [
    Policy.from_yaml(f"quasi_identifying: [a, b]\n{models}\nmax_suppression: {share}\nsuppressed: {seen}\n")
    for models in MODELS
    for share, seen in ((0, "judged"), (0.1, "judged"), (0.3, "exempt"), (0.2, "dropped"))
]
policies = st.sampled_from(POLICIES)
