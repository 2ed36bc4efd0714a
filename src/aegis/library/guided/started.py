"""What `aegis start` answers: everything that was decided and found, and the commands that repeat it.

What a walk will write is looked at before anything is asked: nobody answers six steps to learn that a name is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.commands.start import Start
from aegis.data.output import check_apart, check_free
from aegis.data.project import PROJECT_FILE, Project
from aegis.errors import OutputError
from aegis.library.guided.candidate_release import AttackFigures, GuidedRelease, exposing, exposure_words
from aegis.library.guided.changes import ColumnChange
from aegis.library.guided.comparison import ComparedCandidate, Comparison
from aegis.library.guided.looking import Look
from aegis.operation import word
from aegis.releases.certificate import certificate_paths
from aegis.releases.write import check_format
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Result):
    """What the path came to: the decisions, the candidates, and the release; None where somebody left before it.

    ``commands`` repeat it: the first does it again on tomorrow's file.
    """

    data: str
    rows: int
    project: Path
    report: Path
    roles: Mapping[str, Any]
    purpose: str | None
    policy: Mapping[str, Any]
    noticed: tuple[str, ...]
    candidates: tuple[ComparedCandidate, ...]
    rejected: Mapping[str, str]
    recommended: str
    why: str
    chosen: str
    changes: tuple[ColumnChange, ...]
    out: Path | None
    certificate: Path | None
    rows_released: int | None
    rows_suppressed: int | None
    smallest_class: int | None
    attacks: tuple[AttackFigures, ...]
    commands: tuple[str, ...]

    @property
    def headline(self) -> str:
        if self.out is None:
            return f"{self.chosen} is chosen for {self.data}, and nothing was released yet"
        exposure = exposure_words(self.attacks)
        who = "" if self.policy.get("unit") is None else " people"
        return f"{self.out.name}: {self.rows_released:,} rows, at least {self.smallest_class:,}{who} alike, {exposure}"

    @property
    def exposing(self) -> tuple[str, ...]:
        """The attacks on the release that single somebody out."""
        return exposing(self.attacks)

    def table_rows(self) -> list[dict[str, Any]]:
        return [{**candidate.as_row(), "on_front": candidate.on_front} for candidate in self.candidates]


def report_path(project: Project) -> Path:
    """Where the report of a project stands."""
    return project.folder / f"{Path(project.data).name.split('.')[0] or 'table'}.report.html"


_GENERATOR = b'<meta name="generator" content="Aegis '
_HEAD_BYTES = 2_000


def check_outputs(options: Start, project: Project) -> None:
    """Raise where the release or the report would take the place of an input, or of a file that is none of its own.

    The report of an earlier sitting is replaced: whoever goes on with the same command means it.
    """
    report = Path(options.report) if options.report is not None else report_path(project)
    check_apart([options.out, report], [project.source, options.roles, options.policy, project.path])
    if options.out is not None:
        out = Path(options.out)
        check_format(out)
        check_free(out, *certificate_paths(out), overwrite=options.overwrite)
    if report.is_dir() or (report.exists() and not options.overwrite and not _is_page(report)):
        raise OutputError(f"{report} exists and is no report; choose another name with --report, or add --overwrite")


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return _GENERATOR in file.read(_HEAD_BYTES)


def outcome(
    project: Project,
    seen: Look,
    comparison: Comparison,
    changed: tuple[ColumnChange, ...],
    left: GuidedRelease | None,
    *,
    report: Path,
) -> Started:
    """The answer: everything that was decided and found."""
    assert project.roles is not None
    assert project.policy is not None
    assert project.chosen is not None
    released = None if left is None else left.released
    return Started(
        data=project.data,
        rows=seen.profile.rows,
        project=project.path,
        report=report,
        roles=project.roles.to_mapping(),
        purpose=project.purpose,
        policy=dict(project.policy),
        noticed=seen.sentences(),
        candidates=comparison.candidates,
        rejected=dict(comparison.rejected),
        recommended=comparison.recommended,
        why=comparison.why,
        chosen=project.chosen["name"],
        changes=changed,
        out=None if released is None else Path(released.out),
        certificate=None if released is None else released.certificate_path,
        rows_released=None if released is None else released.rows,
        rows_suppressed=None if released is None else released.suppressed,
        smallest_class=None if released is None else released.smallest_class,
        attacks=() if left is None else left.attacks,
        commands=commands_of(project, left),
    )


def commands_of(project: Project, left: GuidedRelease | None) -> tuple[str, ...]:
    """The commands that repeat it and look after what left; run where the project file is, they need nothing else."""
    about = "" if project.path.name == PROJECT_FILE else f" --project {word(project.path.name)}"
    if left is None:
        return (f"aegis start {word(project.source)}{about}",)
    out, certificate = word(left.released.out), word(left.released.certificate_path)
    file = word(project.path)
    shown = () if left.released.ledger is None else (f"aegis ledger show {word(project.source)}",)
    return (
        f"aegis run TOMORROW.csv --project {file}",
        f"aegis verify {out} {certificate}",
        f"aegis attack {out} --original {word(project.source)} --policy {file} --roles {file}",
        *shown,
    )
