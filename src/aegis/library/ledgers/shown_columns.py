"""How each column of a table left in a release, as far as its entry in the ledger says.

A column that was drawn at random leaves once. Whoever holds two draws averages them, whoever holds a draw beside the
column itself knows what was drawn, and no privacy model sees either. A quasi-identifier that a mask drew may follow
under another mask: its classes are judged together with those that are out, value by value as they were drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aegis.data.schema import Role
from aegis.errors import DataError, LedgerError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration, configurations_from_mapping
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Suppress
from aegis.releases.certificate import Certificate
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.table_register import registered_tables

SANITIZED = "sanitized"
_WAYS_OUT = "anything else needs a reason, with --despite-ledger"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column as a release shows it: by a mask, as it is (`Identity`), or as a sanitizer drew it."""

    mask: Mask
    is_sanitized: bool = False

    @property
    def is_drawn(self) -> bool:
        return self.is_sanitized or self.mask.is_random

    @property
    def is_hidden(self) -> bool:
        """Whether nothing of it is shown."""
        return not self.is_sanitized and self.mask.hides

    @property
    def is_raw(self) -> bool:
        return not self.is_sanitized and isinstance(self.mask, Identity)


def columns_shown(recorded: RecordedRelease) -> dict[str, ShownColumn]:
    """How a release that left shows each of its columns; those of a table finished elsewhere are taken as they are."""
    configuration = configuration_of(recorded) or Configuration(name=recorded.name, masks={})
    identifying = recorded.had_role(Role.IDENTIFYING)
    sanitized = recorded.sanitized
    if recorded.kind == SANITIZED and not sanitized:  # written before entries said so: anything it may have drawn
        sanitized = tuple(name for name in recorded.columns if name not in recorded.quasi_identifying)
    shown = {}
    for name in recorded.columns:
        unmasked = Suppress() if name in identifying and recorded.kind != SANITIZED else Identity()
        shown[name] = ShownColumn(mask=configuration.masks.get(name, unmasked), is_sanitized=name in sanitized)
    return shown


def columns_to_show(columns: Collection[str], masks: Mapping[str, Mask]) -> dict[str, ShownColumn]:
    """How a release by these masks would show each column."""
    return {name: ShownColumn(mask=masks.get(name, Identity())) for name in columns}


def check_drawn_once(
    counted: Mapping[int, RecordedRelease], showing: Mapping[str, ShownColumn], *, quasi_identifying: Sequence[str] = ()
) -> None:
    """Raise where a column was drawn at random for a release that counts, and would be shown again.

    Nor may a sanitizer draw what was shown before: what it promises about a column holds for whoever knows nothing of
    it but that draw.
    """
    for number, recorded in counted.items():
        before = columns_shown(recorded)
        entry = f"entry {number} ({recorded.name})"
        for name, now in showing.items():
            then = before.get(name)
            if then is None or then.is_hidden or now.is_hidden:
                continue
            if now.is_sanitized and not then.is_drawn:
                how = "as it is" if then.is_raw else then.mask.describe()
                raise LedgerError(
                    f"{name!r} left {how} in {entry}, and what a sanitizer promises about it holds only for those who "
                    f"have not seen it; sanitize another column; {_WAYS_OUT}"
                )
            if not then.is_drawn:
                continue
            judged_by_classes = name in quasi_identifying and not then.is_sanitized
            if now.is_drawn or not judged_by_classes:
                raise LedgerError(_drawn_already(name, then=then, now=now, entry=entry))


def _drawn_already(name: str, *, then: ShownColumn, now: ShownColumn, entry: str) -> str:
    how = "sanitized" if then.is_sanitized else "drawn at random"
    why = (
        "whoever averages two draws removes noise"
        if now.is_drawn
        else f"whoever holds it {'as it is' if now.is_raw else 'under another mask'} beside that draw learns what was "
        "hidden"
    )
    ways = "suppress the column, or leave it out (release --columns)"
    if now.is_sanitized:
        ways = "or judge alone with --ledger none if it never left"
    return f"{name!r} was {how} for {entry}, and {why}: give that file again, {ways}; {_WAYS_OUT}"


def configuration_of(recorded: RecordedRelease) -> Configuration | None:
    """The masks that a release was made by; None for a table that was finished elsewhere."""
    if recorded.configuration is None:
        return None
    (configuration,) = configurations_from_mapping(recorded.configuration, name=recorded.name)
    return configuration


def masks_behind(certificate: Certificate, *, file: str) -> Configuration:
    """What a release was made by, value by value; raises where only its provider could say and nobody here is that."""
    stated, named = certified_configuration(certificate.content), certificate.content["configuration"]
    if LABELS_ID not in named:
        return stated
    for table in registered_tables():
        try:
            left = read_ledger(table.ledger).releases.values()
        except LedgerError:
            continue  # whoever releases that table is told; here another one is looked for
        for recorded in left:
            if recorded.file_sha256 == certificate.file_sha256:
                configuration = configuration_of(recorded)
                if configuration is not None and configuration.id == named["id"]:
                    return configuration
    raise DataError(
        f"the certificate of {file} names what its masks wrote and not what they made of each value, and no ledger of "
        "yours has the release; give the masks with --config"
    )
