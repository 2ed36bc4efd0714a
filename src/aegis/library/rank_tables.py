"""Masking configurations, clustered tables and sanitized tables in one ranking, past one privacy gate."""

from __future__ import annotations

from pathlib import Path

from aegis.commands.advise import Advise
from aegis.counts.answer import count_rows
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.counts.summary import Summary
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError, DataError, LabelError, PolicyNotSatisfiedError
from aegis.library.judging import classes_of, read_policy
from aegis.library.opening import open_table
from aegis.library.proposals import find_hierarchies, gather, label_of
from aegis.privacy.judgement import judge_all
from aegis.ranking.ranking import Ranking
from aegis.ranking.tuple_rank import Candidate, rank_tuples
from aegis.ranking.verdicts import merged_classes
from aegis.releases.write import sha256_of


def rank_tables(options: Advise) -> Ranking:
    """Rank tables, each the same records as the data anonymized in some way, beside configurations.

    With a policy every candidate is judged by it; those that fail are named and left out. Without one the
    quasi-identifiers come from the roles, and nothing is judged.
    """
    assert not isinstance(options.data, Summary)
    dataset = open_table(options.data, options)
    rules = None if options.policy is None else read_policy(options.policy)
    known = find_hierarchies(options.hierarchies, options.data)
    given = gather(options.configs, hierarchies=known, data=options.data)
    label = label_of(options.label, dataset.roles.label, given)
    own = dataset.roles if label is None else dataset.roles.overridden_by(Roles(label=label))
    known_roles = own if rules is None else rules.roles_in(dataset.schema, own)
    if known_roles.label is None:
        raise LabelError("no label is given; name the column to be predicted with --label or in the roles file")

    def classes(source: Dataset, *, released: bool = False) -> ClassTable:
        contents = (str(known_roles.label),)
        if rules is None:
            return count_classes(source, known_roles.quasi_identifying, contents=contents, released=released)
        return classes_of(source, rules, known_roles, contents=contents, released=released, hierarchies=known)

    original = classes(dataset)
    candidates: list[Candidate] = []
    rejected: dict[str, str] = {}

    def enter(name: str, ident: str, what: str, table: ClassTable | None, *, suppress: bool) -> None:
        if table is None:
            rejected[name] = "masks a quasi-identifying or sensitive column at random: rank its written release instead"
            return
        if rules is not None:
            judged = judge_all(table, rules, suppress=suppress)
            if not judged.satisfied:
                failing = ", ".join(v.title for v in judged.verdicts if not v.satisfied) or "max_suppression"
                rejected[name] = f"does not satisfy {failing}"
                return
            table = judged.released
        candidates.append(Candidate(name=name, id=ident, what=what, table=table))

    for one in given:
        enter(one.name, one.id, "a configuration", merged_classes(one, original), suppress=True)
    for path in map(Path, options.tables):
        table = _same_records(path, dataset, classes(open_dataset(path, as_text=True, roles=Roles()), released=True))
        enter(path.stem, sha256_of(path)[:12], "a table", table, suppress=False)
    if not candidates and rejected:
        raise PolicyNotSatisfiedError(f"none of the {len(rejected)} candidates satisfies the policy; mask more")
    if not candidates:
        raise ConfigurationError("there is nothing to rank; give configurations or tables")
    return rank_tuples(candidates, original, label=known_roles.label, rejected=rejected)


def _same_records(path: Path, dataset: Dataset, table: ClassTable) -> ClassTable:
    rows = count_rows(dataset.table)
    if table.records > rows:
        raise DataError(f"{path.name} has {table.records:,} rows and the data {rows:,}: they are not the same records")
    return table
