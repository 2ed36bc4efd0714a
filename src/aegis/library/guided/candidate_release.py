"""The sixth step: the release, with its certificate, the attacks that were run on it, and its place in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.commands.fields import TableLike
from aegis.data.schema import Roles
from aegis.errors import DataError
from aegis.library.guided.finishing import Finishing, release_finished
from aegis.library.release import Released, release
from aegis.masking.configuration import Configuration
from aegis.plural import count
from aegis.releases.certificate import certificate_paths
from aegis.result import AMONG_OTHERS, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFigures:
    """What an attack on the release found: how many people it claims to know, how many rightly, beside chance."""

    name: str
    knows: str
    people: int
    singled_out: int
    right: int | None
    exposed_share: float
    not_applicable: str | None

    @property
    def singles_out(self) -> bool:
        """Whether it points at some people and is right; whoever names a row for everybody only guesses."""
        return self.exposed_share > 0 and self.singled_out < self.people


def exposing(attacks: Sequence[AttackFigures]) -> tuple[str, ...]:
    """The attacks that single somebody out."""
    return tuple(attack.name for attack in attacks if attack.singles_out)


def exposure_words(attacks: Sequence[AttackFigures]) -> str:
    """Whether somebody is singled out; an attack that does not apply to the release was not run."""
    if names := exposing(attacks):
        return f"somebody is singled out by {', '.join(names)}"
    ran = sum(attack.not_applicable is None for attack in attacks)
    return f"nobody is singled out by {count(ran, 'attack')} on what is quasi-identifying"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GuidedRelease(Result):
    """A release that left, with what attacks on it found."""

    released: Released = field(metadata=AMONG_OTHERS)
    attacks: tuple[AttackFigures, ...]

    @property
    def headline(self) -> str:
        return f"{self.released.headline}; {exposure_words(self.attacks)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.released.warnings

    def table_rows(self) -> list[dict[str, Any]]:
        return self.released.table_rows()

    @property
    def exposing(self) -> tuple[str, ...]:
        """The attacks that single somebody out."""
        return exposing(self.attacks)

    def frame(self) -> pd.DataFrame:
        """The rows as they were released."""
        return self.released.frame()


_ABOUT_SECRETS = frozenset({"homogeneity", "background-knowledge"})
"""Attacks that read a sensitive value off a group; where no column is sensitive they would go for the label."""


def attacks_to_run(roles: Roles) -> tuple[str, ...]:
    """The attacks that take a moment and need one release; those on sensitive values where some column is sensitive."""
    from aegis.attacks.attack import ATTACKS  # compiled loops

    quick = [name for name, attack in ATTACKS.items() if attack.cheap and attack.least_releases == 1]
    return tuple(name for name in quick if roles.sensitive or name not in _ABOUT_SECRETS)


def free_name(source: str, folder: Path) -> Path:
    """Where a release is written unless somebody says otherwise: beside the project, by the table's name.

    A release that is there stays: the next one has a number.
    """
    stem, ending = Path(source).name.split(".")[0] or "table", Path(source).suffix.lower()
    ending = ending if ending == ".parquet" else ".csv"
    path, number = folder / f"{stem}.released{ending}", 2
    while path.exists() or certificate_paths(path)[0].exists():
        path, number = folder / f"{stem}.released-{number}{ending}", number + 1
    return path


def release_candidate(
    data: TableLike,
    made_by: Configuration | Finishing,
    *,
    roles: Roles,
    policy: Mapping[str, Any],
    out: Path,
    reading: Mapping[str, Any],
    ledger: str | Path | None = None,
    recipient: str | None = None,
    despite_ledger: str | None = None,
    overwrite: bool = False,
) -> GuidedRelease:
    """Release the table by masks, or as boxes or clusters that are judged row by row, attacked before it appears.

    Raises, and writes nothing, if it fails.
    """
    options: dict[str, Any] = {
        "roles": roles,
        "policy": policy,
        "out": out,
        "attacks": attacks_to_run(roles),
        "ledger": ledger,
        "recipient": recipient,
        "despite_ledger": despite_ledger,
        "overwrite": overwrite,
    }
    if isinstance(made_by, Configuration):
        released = release(data, config=made_by, **options, **reading)
    elif isinstance(data, str | Path):
        released = release_finished(data, finishing=made_by, reading=reading, **options)
    else:
        raise DataError("boxes and clusters are judged row by row with the ledger of a file; write the table to one")
    figures = AttackFigures.__dataclass_fields__
    stated = released.certificate.content.get("attacks", [])
    return GuidedRelease(
        released=released,
        attacks=tuple(AttackFigures(**{name: attack[name] for name in figures}) for attack in stated),
    )
