"""What several maskings of a table show together, judged where the rows are: only verdicts and counts leave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from aegis.catalog.records import JointVerdict, MaskedPart, ModelBroken, ProductLedger
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.errors import ConfigurationError
from aegis.library.tables.judging import classes_of
from aegis.masking.configuration import Configuration
from aegis.masking.masks.suppress import Suppress
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy
from aegis.ranking.joint import joint_classes

MOST_PAIRS = 2_000


def sets_of(ledger: ProductLedger, known: Collection[str]) -> list[tuple[MaskedPart, ...]]:
    """What is judged for a product: of earlier releases those whose masking is ``known`` by the id of its content."""
    out = [entry.part for entry in ledger.entries if entry.part is not None and entry.part.content_id in known]
    return sets_to_judge(ledger.wanted, out)


def sets_to_judge(wanted: Iterable[MaskedPart], out: Sequence[MaskedPart]) -> list[tuple[MaskedPart, ...]]:
    """Every masking that may be approved together with all earlier releases, and with each of it; and every pair."""
    parts = list(dict.fromkeys(wanted))
    shown = list(dict.fromkeys(out))
    sets: dict[frozenset[MaskedPart], tuple[MaskedPart, ...]] = {}
    for part in parts:
        sets.setdefault(frozenset({*shown, part}), (*shown, part))
        for other in shown:
            sets.setdefault(frozenset({other, part}), (other, part))
    for pair in list(combinations(parts, 2))[:MOST_PAIRS]:
        sets.setdefault(frozenset(pair), pair)
    return [listed for key, listed in sets.items() if len(key) > 1]


def judge_sets(
    dataset: Dataset,
    policy: Policy,
    configurations: Mapping[str, Configuration],
    sets: Iterable[Sequence[MaskedPart]],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> list[JointVerdict]:
    """The verdict on each set; ``configurations`` are found by the id of their content. The rows are counted once.

    A masking that draws cannot be judged before it is released: sets with such a one are left out.
    """
    roles = policy.roles_in(dataset.schema, dataset.roles)
    classes = classes_of(dataset, policy, roles, hierarchies=hierarchies)
    verdicts = []
    for parts in sets:
        masks = [_shown(configurations[part.content_id], part, roles.quasi_identifying) for part in parts]
        try:
            judged = judge_all(joint_classes(masks, classes, policy), policy, suppress=False)
        except ConfigurationError:
            continue
        broken = tuple(
            ModelBroken(model=verdict.title, records=verdict.records_failing)
            for verdict in judged.verdicts
            if not verdict.satisfied
        )
        verdicts.append(JointVerdict(parts=tuple(parts), satisfied=judged.satisfied, broken=broken))
    return verdicts


def _shown(configuration: Configuration, part: MaskedPart, quasi: Sequence[str]) -> Configuration:
    """The masking as a release of some of the columns shows it: a column that is left out tells nobody apart.

    A sensitive column that is left out is judged as if it were shown, which is never too kind.
    """
    if part.columns is None:
        return configuration
    left_out = {name: Suppress() for name in quasi if name not in part.columns}
    return replace(configuration, masks={**configuration.masks, **left_out})
