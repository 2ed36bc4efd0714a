"""What constrains a release of a table: its policy, the roles that this speaks of, and what was released before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aegis.commands.fields import WithLedger
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Role, Roles
from aegis.errors import LedgerError
from aegis.library.ledgers.earlier_promises import check_promises
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.ledger_opening import earlier_releases_of
from aegis.library.tables.judging import classes_of
from aegis.library.tables.masked_data import masked_data
from aegis.library.tables.without_policy import all_pass
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy
from aegis.privacy.together import nobody_gone
from aegis.ranking.verdicts import Verdicts, judge


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constraints:
    """A table, what has to hold of whatever is released of it, and what was released before: None where nothing counts.

    ``hierarchies`` are those that distances are measured by.
    """

    dataset: Dataset
    policy: Policy
    roles: Roles
    hierarchies: Mapping[str, Hierarchy]
    earlier: EarlierReleases | None = None

    def classes(self, *, contents: tuple[str, ...] = (), masks: Mapping[str, Mask] | None = None) -> ClassTable:
        """The classes of the table, ``masks`` on it; the known class is the last column where something left before."""
        rows = self.dataset if self.earlier is None else self.earlier.dataset
        return classes_of(
            masked_data(rows, masks).dataset if masks else rows,
            self.policy,
            self.roles,
            contents=contents,
            hierarchies=self.hierarchies,
            known=self.earlier is not None,
        )

    def judging(self) -> Callable[[Sequence[Configuration]], Verdicts]:
        """A function that judges configurations, however often it is asked: the rows are counted once.

        Each is judged together with what was released before.
        """
        classes, policy, earlier = self.classes(), self.policy, self.earlier
        gone = nobody_gone if earlier is None else earlier.gone_from
        return lambda candidates: judge(candidates, classes, policy, gone=gone)

    def of_label(self, label: str) -> Constraints:
        """The same where this column is to be predicted, and so leaves as it is."""
        own = self.dataset.roles.overridden_by(Roles(label=label))
        return replace(self, roles=self.policy.roles_in(self.dataset.schema, own))


def judging(dataset: Dataset, constraints: Constraints | None) -> Callable[[Sequence[Configuration]], Verdicts]:
    """A function that judges configurations, if there is anything to judge them by."""
    return all_pass(dataset) if constraints is None else constraints.judging()


def constraints_on(
    data: object,
    dataset: Dataset,
    options: WithLedger,
    *,
    policy: Policy,
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy],
) -> Constraints:
    """For whoever looks for what may be released of a table next: what the policy asks, and the table's ledger.

    Raises where nothing can be judged together with what was released before, or where the policy takes back what was
    promised then.
    """
    earlier = earlier_releases_of(data, dataset, options, policy=policy, roles=roles)
    if earlier is not None and earlier.unjoinable is not None:
        raise LedgerError(earlier.unjoinable)
    if earlier is not None:
        hidden = {name for recorded in earlier.counted.values() for name in recorded.had_role(Role.IDENTIFYING)}
        hidden = {name for name in hidden if roles.get(name) is None}  # until somebody says that it may be shown
        hidden.update(roles.identifying)
        kept = [name for name in dataset.schema.names if name not in hidden]
        check_promises(earlier.counted, policy, roles, published=kept)
    return Constraints(dataset=dataset, policy=policy, roles=roles, hierarchies=hierarchies, earlier=earlier)
