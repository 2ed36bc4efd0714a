"""The sixth step: the release, with its certificate, the attacks that were run on it, and its place in the ledger.

Masks are released as they are. Boxes and clusters are made as a finished table and released row by row with the ledger.
That table stands in a folder of its own that only its owner may read, and goes when the release is written or refused.
Boxes are kept beside the project: tomorrow's rows fall into the same ones, so that what left and what is to leave never
cut a group between them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.commands.fields import NO_LEDGER, TableLike
from aegis.data.engine import open_dataset
from aegis.data.output import PRIVATE, draft_of
from aegis.data.schema import Roles
from aegis.errors import DataError, GuaranteeError, InputError, PolicyNotSatisfiedError, ProjectError
from aegis.library.anonymize import anonymize
from aegis.library.apply import apply
from aegis.library.release import Released, release
from aegis.library.tables.judging import read_policy
from aegis.masking.configuration import Configuration
from aegis.plural import count
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy, Suppressed
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a release is written, for whom, and by which ledger."""

    out: Path
    ledger: str | Path | None = None
    recipient: str | None = None
    despite_ledger: str | None = None
    overwrite: bool = False


def release_candidate(
    data: TableLike,
    made_by: Configuration | Finishing,
    to: Destination,
    *,
    roles: Roles,
    policy: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> GuidedRelease:
    """Release the table by masks, or as boxes or clusters that are judged row by row, attacked before it appears.

    Raises, and writes nothing, if it fails.
    """
    attacks = attacks_to_run(roles)
    if isinstance(made_by, Configuration):
        released = release(data, config=made_by, roles=roles, policy=policy, attacks=attacks, **asdict(to), **reading)
    elif isinstance(data, str | Path):
        released = release_finished(data, made_by, to, roles=roles, policy=policy, attacks=attacks, reading=reading)
    else:
        raise DataError("boxes and clusters are judged row by row with the ledger of a file; write the table to one")
    figures = AttackFigures.__dataclass_fields__
    stated = released.certificate.content.get("attacks", [])
    return GuidedRelease(
        released=released,
        attacks=tuple(AttackFigures(**{name: attack[name] for name in figures}) for attack in stated),
    )


FINISHED = frozenset({"boxes", "clusters"})
"""Kinds that `anonymize` makes a table of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
    """How a finished table is made: its kind, the method of `anonymize`, and the seed of the race.

    ``boxes`` is the file that keeps boxes; with ``again`` rows fall into those that stand there.
    """

    kind: str
    method: str
    seed: int = 0
    boxes: Path | None = None
    again: bool = False

    def __post_init__(self) -> None:
        if self.kind not in FINISHED:
            raise ProjectError(f"{self.kind} is no kind that is made as a table; those are boxes and clusters")


def boxes_path(project: Path) -> Path:
    """Where the boxes of a project are kept."""
    return project.with_name(f".{project.stem}.boxes.json")


def why_not_finished(
    data: TableLike, policy: Policy, *, reading: Mapping[str, Any], ledger: str | Path | None
) -> str | None:
    """Why boxes and clusters of a table cannot be released row by row; None where they can."""
    if str(ledger) == NO_LEDGER:
        return "boxes and clusters are judged row by row with the ledger, and there is none"
    if not isinstance(data, str | Path) or "://" in str(data) or reading.get("engine"):
        return "boxes and clusters are judged row by row with the ledger of a file, and this table is none"
    if policy.suppressed is Suppressed.DROPPED:
        return "boxes and clusters are judged row by row, and the policy leaves rows out"
    return None


def release_finished(
    data: str | Path,
    finishing: Finishing,
    to: Destination,
    *,
    roles: Roles,
    policy: Mapping[str, Any],
    attacks: tuple[str, ...],
    reading: Mapping[str, Any],
) -> Released:
    """Make the table in private and release it; raises `PolicyNotSatisfiedError` where it may not be released."""
    kept = finishing.boxes
    if finishing.kind == "boxes" and finishing.again and kept is not None and not kept.is_file():
        raise ProjectError(
            f"{kept.name}, the boxes that left before, is not beside the project; put it back, or choose anew with "
            "aegis run --choose"
        )
    with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
        table, boxes = Path(folder) / "finished.parquet", Path(folder) / "boxes.json"
        try:
            _make(data, table, boxes, finishing=finishing, roles=roles, policy=policy, reading=reading)
        except (GuaranteeError, InputError) as error:
            raise PolicyNotSatisfiedError(f"{finishing.method} could not be made: {error}") from error
        try:
            released = release(
                replace(open_dataset(table), name=Path(data).name),
                policy=policy,
                rows_of=data,
                roles=roles,
                attacks=attacks,
                **asdict(to),
                **reading,
            )
        except DataError as error:  # no column stayed as it is, so nobody could say which row is which
            raise PolicyNotSatisfiedError(f"{finishing.method} could not be released: {error}") from error
        if finishing.boxes is not None and boxes.is_file():
            with draft_of(finishing.boxes, overwrite=True, mode=PRIVATE) as draft:
                draft.write_text(boxes.read_text(encoding="utf-8"), encoding="utf-8")
    return released


def _make(
    data: str | Path,
    table: Path,
    boxes: Path,
    *,
    finishing: Finishing,
    roles: Roles,
    policy: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> None:
    rules = read_policy(policy)
    roles = rules.roles_in(open_dataset(data, **reading).schema, roles)
    if finishing.kind == "boxes" and finishing.again and finishing.boxes is not None:
        apply(data, config=finishing.boxes, out=table, roles=roles, **reading)
    elif finishing.kind == "boxes":
        anonymize(
            data,
            method=finishing.method,
            policy=policy,
            seed=finishing.seed,
            roles=roles,
            model=boxes,
            out=table,
            **reading,
        )
    else:
        fewest = max((model.k for model in rules.models if isinstance(model, KAnonymity)), default=2)
        anonymize(
            data,
            method=finishing.method,
            k=fewest,
            scale="standardised",
            seed=finishing.seed,
            roles=roles,
            out=table,
            **reading,
        )
