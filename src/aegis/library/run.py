"""Do again what a project decided, on tomorrow's file: look, choose or keep, release, attack, remember."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aegis.commands.run import Run
from aegis.commands.start import Start
from aegis.counts.answer import ask
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import TOP
from aegis.data.kind import Kind
from aegis.data.project import Project, read_project
from aegis.errors import HierarchyError, PolicyNotSatisfiedError, ProjectError, RoleError
from aegis.library.guided.candidate_release import (
    AttackFigures,
    Destination,
    GuidedRelease,
    exposing,
    exposure_words,
    free_name,
)
from aegis.library.guided.comparing import compare
from aegis.library.guided.comparison import Comparison
from aegis.library.guided.looking import Look, look
from aegis.library.release import Released
from aegis.library.start import (
    next_best,
    open_project_table,
    reading_of,
    release_chosen,
    settings_of,
    with_choice,
    with_release,
)
from aegis.operation import listed, operation
from aegis.plural import count
from aegis.releases.ledger import ledger_path
from aegis.result import AMONG_OTHERS, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun(Result):
    """A release made as a project decided, what differs from the table that it was decided on, and the attacks."""

    released: Released = field(metadata=AMONG_OTHERS)
    chosen: str
    attacks: tuple[AttackFigures, ...]
    differences: tuple[str, ...] = ()

    @property
    def exposing(self) -> tuple[str, ...]:
        """The attacks that single somebody out."""
        return exposing(self.attacks)

    @property
    def headline(self) -> str:
        exposure = exposure_words(self.attacks)
        return f"{self.released.out}: {self.released.rows:,} rows by {self.chosen}, {exposure}"

    def table_rows(self) -> list[dict[str, Any]]:
        return self.released.table_rows()


@operation(Run)
def run(options: Run) -> Rerun:
    """Release a table again as its project decided; raises, and releases nothing, where that no longer holds.

    Example::

        started = aegis.start("clinic.csv", yes=True, purpose="internal", candidates=["masks"], generate=2)
        aegis.run("clinic.csv", project=started.project, out="again.csv")
    """
    path = Path(options.project)
    if not path.is_file():
        raise ProjectError(f"there is no project file {path}; aegis start makes one, or name it with --project")
    project = decided = read_project(path)
    today = {name: value for name in ("delimiter", "encoding") if (value := getattr(options, name)) is not None}
    if today:
        project = replace(project, reading={**project.reading, **today})
    if project.roles is None or project.policy is None or not project.is_decided:
        raise ProjectError(f"{path.name} has nothing chosen yet; aegis start goes on where it was left")
    data = project.source if options.data is None else str(options.data)
    ledger = options.ledger if options.ledger is not None else _ledger(project)
    start_options = Start(data)
    dataset = open_project_table(replace(project, data=str(Path(data).resolve())), start_options)
    seen = look(dataset)
    differences = _differences(project, seen)
    comparison: Comparison | None = None
    if options.choose:
        if options.progress is not None:
            options.progress(0, None, "candidates")
        comparison = compare(
            data,
            roles=project.roles,
            policy=project.policy,
            settings=settings_of(project, start_options),
            reading=reading_of(project),
            label_bins=project.label_bins,
            ledger=ledger,
            recipient=options.recipient,
            progress=options.progress,
        )
        project = with_choice(project, comparison, comparison.best)
        differences = (*differences, f"recommended now: {comparison.why}")
    if options.progress is not None:
        options.progress(0, None, "release and attacks")
    out = Path(options.out) if options.out is not None else free_name(data, project.folder)
    to = Destination(
        out=out,
        ledger=ledger,
        recipient=options.recipient,
        despite_ledger=options.despite_ledger,
        overwrite=options.overwrite,
    )
    while True:
        try:
            left: GuidedRelease = release_chosen(project, to, data=data, again=comparison is None)
            break
        except HierarchyError as error:
            raise HierarchyError(f"{error} under hierarchies in {path.name}, or choose anew with --choose") from None
        except PolicyNotSatisfiedError as error:
            if comparison is None:
                raise PolicyNotSatisfiedError(f"{error}, or choose anew on this table with --choose") from None
            comparison = next_best(comparison, project, error)
            project = with_choice(project, comparison, comparison.best)
            differences = (*differences, comparison.notes[-1], f"recommended now: {comparison.why}")
    differences = (*differences, *_hidden_values(left.released))
    with_release(replace(project, reading=decided.reading), left).write()
    return Rerun(
        released=left.released,
        chosen=(project.chosen or {}).get("name", "chosen"),
        attacks=left.attacks,
        differences=differences,
    )


def _hidden_values(released: Released) -> tuple[str, ...]:
    """The columns in which single values became stars: the masks were chosen before these values came."""
    table = open_dataset(released.out)
    texts = [column.name for column in table.schema if column.kind is Kind.TEXT]
    if not texts:
        return ()
    stars = ask(table.table.aggregate([(table.table[name] == TOP).sum().name(name) for name in texts]))
    sentences = []
    for name in texts:
        rows = int(stars[name][0].as_py() or 0) - released.suppressed
        if 0 < rows < released.rows - released.suppressed:
            sentences.append(
                f"{name}: {rows:,} of {count(released.rows, 'row')} became {TOP}, because the masks know no such "
                "value; --choose makes new ones"
            )
    return tuple(sentences)


def _ledger(project: Project) -> Path | None:
    """The ledger of the project's own table: another state of it is the same table."""
    if "://" in project.data or project.reading.get("engine"):
        return None
    return ledger_path(Path(project.source), table=project.reading.get("table"))


def _differences(project: Project, seen: Look) -> tuple[str, ...]:
    """What is new in the file; raises where a column came or went, because nobody decided about that."""
    assert project.roles is not None
    decided = set(project.roles.named)
    new = [name for name in seen.columns if name not in decided]
    gone = [name for name in project.roles.named if name not in seen.columns]
    if new or gone:
        changes = [f"nobody decided about {listed(new)}"] if new else []
        changes += [f"{listed(gone)} is gone"] if gone else []
        raise RoleError(
            f"the file is not the table that {project.path.name} is about: {'; '.join(changes)}; change its roles "
            "there, or start again with aegis start --restart"
        )
    return tuple(f"{mark.column}: {' '.join(mark.texts)} may mean a missing value" for mark in seen.findings.marks)
