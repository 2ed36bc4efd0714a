"""From somebody's own file to a release one would sign: the steps in order, each kept in the project file."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import NO_LEDGER, READING, Reading
from aegis.commands.start import COUNT_ROWS, Start
from aegis.data.dataset import Dataset
from aegis.data.output import check_apart
from aegis.data.project import PROJECT_FILE, Project, read_project
from aegis.data.schema import Roles, check_columns
from aegis.errors import InputError, OptionError, PolicyNotSatisfiedError, ProjectError
from aegis.learners.sample import LEAST_ROWS
from aegis.library.advising.candidate_kinds import CANDIDATES
from aegis.library.guided.candidate_release import (
    FINISHED,
    Destination,
    Finishing,
    GuidedRelease,
    boxes_path,
    free_name,
    release_candidate,
)
from aegis.library.guided.changes import ColumnChange, becomes
from aegis.library.guided.comparing import ReleaseSource, Settings, compare, something_left
from aegis.library.guided.comparison import (
    ComparedCandidate,
    Comparison,
    comparison_key,
    comparison_path,
    keep_comparison,
    kept_comparison,
)
from aegis.library.guided.deciding import PURPOSES, USUAL, asked_for_less, policy_for, published_words, with_roles
from aegis.library.guided.guide import Guide, TerminalGuide
from aegis.library.guided.looking import (
    NOTATION_WORDS,
    Look,
    look,
    person_columns,
    values_to_tell_apart,
)
from aegis.library.guided.started import Started, check_outputs, outcome, report_path
from aegis.library.ledgers.recognition import path_of, refuse_rows_of_others
from aegis.library.tables.judging import read_policy
from aegis.library.tables.opening import open_table
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, to_mapping
from aegis.operation import operation
from aegis.plural import count
from aegis.report.page import write_page
from aegis.report.start_report import render_start


@operation(Start)
def start(options: Start) -> Started:
    """Lead from a table to a release: what is in it, roles, what must hold, candidates, the choice, the release.

    With ``yes`` every suggestion is taken; otherwise the terminal asks. What is decided stands in the project file at
    once, so the path can be left anywhere and taken up again.

    Example::

        aegis.start("clinic.csv", yes=True, purpose="internal", candidates=["masks"], generate=2)
    """
    if options.web:
        from aegis.library.guided.web import serve  # an extra

        return serve(options)
    return walk(options, TerminalGuide(ask=not options.yes))


def walk(options: Start, guide: Guide) -> Started:
    """The path with somebody to ask; see `Guide`."""
    for kind in options.candidates:
        CANDIDATES[kind]  # says which there are if it is not one of them
    project = opened_project(options)
    check_outputs(options, project)
    dataset = open_own_rows(project, options)
    guide.begin(1, "What is in the table")
    project, dataset, seen = looked(project, dataset, options, guide)
    guide.begin(2, "Which part each column plays")
    project = with_roles(project, seen, options, guide).write()
    stands_out = published_words(dataset, project.roles)
    if stands_out is not None:
        guide.note(stands_out)
    guide.begin(3, "What must hold")
    project = with_policy(project, dataset, seen, options, guide).write()
    guide.begin(4, "Candidates, side by side")
    comparison = compared(project, options, guide, dataset)
    guide.show_comparison(comparison)
    while True:
        guide.begin(5, "What each column becomes")
        project, changed = chosen_of(project, dataset, comparison, options, guide)
        project.write()
        guide.begin(6, "The release")
        try:
            left = _release(project, options, guide)
        except PolicyNotSatisfiedError as error:
            comparison = next_best(comparison, project, error)
            guide.note(comparison.notes[-1])
            guide.note(f"recommended now: {comparison.why}")
            continue
        return finished(project, seen, comparison, changed, left, options, stands_out=stands_out)


def next_best(comparison: Comparison, project: Project, error: PolicyNotSatisfiedError) -> Comparison:
    """What is left to choose from where boxes or clusters were refused as they would be written.

    Masks are judged by the same counts before they are offered: what refuses those is no matter of the candidate.
    """
    assert project.chosen is not None
    if project.chosen["kind"] not in FINISHED:
        raise error
    return comparison.without(project.chosen["name"], because=str(error))


def finished(
    project: Project,
    seen: Look,
    comparison: Comparison,
    changed: tuple[ColumnChange, ...],
    left: GuidedRelease | None,
    options: Start,
    *,
    stands_out: str | None = None,
) -> Started:
    """The end of the path: what left goes into the project, and the report is written.

    ``stands_out`` is what `published_words` said of the columns that are published as they are.
    """
    if left is not None:
        project = with_release(project, left).write()
        comparison_path(project.path).unlink(missing_ok=True)
    report = Path(options.report) if options.report is not None else report_path(project)
    started = outcome(project, seen, comparison, changed, left, report=report)
    if stands_out is not None:
        started = replace(started, noticed=(*started.noticed, stands_out))
    policy = read_policy(started.policy).describe().splitlines()
    page = render_start(started, seen, comparison, policy=policy)
    write_page(report, page, overwrite=True)
    return started


def opened_project(options: Start) -> Project:
    """The project of the table, begun or taken up again."""
    data = str(options.data)
    folder = Path() if "://" in data or options.engine else Path(data).parent
    path = Path(options.project) if options.project is not None else folder / PROJECT_FILE
    check_apart([path], [data])
    if path.is_file() and not options.restart:
        project = read_project(path)
        if not project.is_about(data):
            raise ProjectError(
                f"{path} is about another table ({project.data}); name another file with --project, or add --restart "
                "to replace it"
            )
        return project
    reading = {name: getattr(options, name) for name in READING if name in options.given()}
    reading = {name: list(value) if isinstance(value, tuple) else value for name, value in reading.items()}
    if "engine" in reading and "@" in str(reading["engine"]):
        raise OptionError("the URL of the engine holds a password, which no project file should; give one without it")
    named = data if "://" in data or options.engine else _relative(Path(data), path)
    return Project(path=path, data=named, reading=reading, seed=options.seed)


def _relative(data: Path, project: Path) -> str:
    """The path of the data as the project file names it."""
    try:
        return data.resolve().relative_to(project.resolve().parent).as_posix()
    except ValueError:
        return str(data.resolve())


def reading_of(project: Project) -> dict[str, Any]:
    """The options of reading that a project holds."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in project.reading.items()}


def open_own_rows(project: Project, options: Start) -> Dataset:
    """The table of a project; an error where its rows left before under another ledger."""
    dataset = open_project_table(project, options)
    if options.has_ledger:
        refuse_rows_of_others(dataset, path_of(project.source, options))
    return dataset


def looked(project: Project, dataset: Dataset, options: Start, guide: Guide) -> tuple[Project, Dataset, Look]:
    """The table looked at, read again where texts turn out to be missing values, numbers or dates."""
    seen = look(dataset)
    guide.show_look(seen)
    if seen.profile.rows < LEAST_ROWS:  # said before anything is asked: the race would say it after every question
        raise InputError(
            f"{seen.profile.name} has {count(seen.profile.rows, 'row')}, and at least {LEAST_ROWS} are needed to say "
            "what a release is worth; give more rows, or mask these by hand (aegis release)"
        )
    if project.has_roles:
        return project, dataset, seen
    added: dict[str, tuple[str, ...]] = {}
    if seen.marks and (chosen := guide.missing(seen)):
        added["missing"] = chosen
        guide.note(f"read as missing: {' '.join(chosen)}")
    for written in seen.findings.written:
        how = guide.notation(written)
        if how is not None:
            added[how] = (*added.get(how, ()), written.column)
            guide.note(f"{written.column} is read as {NOTATION_WORDS[how]}")
    if added:
        both = {name: [*project.reading.get(name, ()), *values] for name, values in added.items()}
        project = replace(project, reading={**project.reading, **both})
        dataset = open_own_rows(project, options)
        seen = look(dataset)
    return project, dataset, seen


def open_project_table(project: Project, options: Start) -> Dataset:
    """The table of a project, with the roles of the options."""
    return open_table(project.source, replace(options, **{**_reading_defaults(), **reading_of(project)}))


def _reading_defaults() -> dict[str, Any]:
    return {field.name: field.default for field in fields(Reading) if field.name in READING}


def with_policy(project: Project, dataset: Dataset, seen: Look, options: Start, guide: Guide) -> Project:
    """What must hold, as it was decided before unless the options say something of it."""
    assert project.roles is not None
    if project.policy is not None and not {"purpose", "k", "person", "policy"} & set(options.given()):
        what = PURPOSES[project.purpose].title if project.purpose in PURPOSES else "a policy of your own"
        guide.note(f"as decided in {project.path.name}: {what}")
        return project
    if options.policy is not None:
        policy = read_policy(options.policy).to_mapping()
        return replace(project.without_choice(), purpose=None, policy=policy)
    purpose = options.purpose or project.purpose or guide.purpose(project.roles, USUAL)
    unit = _unit(project.roles, seen, options, guide)
    k = options.k or guide.fewest(purpose, project.roles, PURPOSES[purpose].k, unit=unit)
    _check_enough(k, seen, unit)
    distinct = values_to_tell_apart(dataset, seen, project.roles, unit)
    policy = policy_for(purpose, project.roles, distinct=distinct, k=k, unit=unit)
    for note in asked_for_less(purpose, seen, distinct, unit):
        guide.note(note)
    return replace(project.without_choice(), purpose=purpose, policy=policy)


def _check_enough(k: int, seen: Look, unit: str | None) -> None:
    """Raise where more are to look alike than there are."""
    people = {column.name: column.distinct for column in seen.profile.columns}
    there_are = seen.profile.rows if unit is None else people[unit]
    if k > there_are:
        whom = count(there_are, "row") if unit is None else count(there_are, "person", "people")
        raise OptionError(f"k = {k:,}, and the table has {whom}; ask for fewer that look alike")


def _unit(roles: Roles, seen: Look, options: Start, guide: Guide) -> str | None:
    """The column by which people are counted; None where rows are."""
    if options.person is not None and options.person != COUNT_ROWS:
        check_columns([options.person], seen.columns, error=OptionError)
        if options.person not in roles.identifying:
            raise OptionError(
                f"people are counted by {options.person!r}, which would be published; name it with --identifying too"
            )
        return options.person
    columns = person_columns(seen, roles)
    if not columns:
        return None
    unit = None if options.person == COUNT_ROWS else guide.person(columns, columns[0])
    guide.note("rows are counted, not people" if unit is None else f"people are counted, by {unit}, and not rows")
    return unit


def compared(project: Project, options: Start, guide: Guide, dataset: Dataset) -> Comparison:
    """The candidates of a project: those of the last sitting if nothing changed, or raced now.

    ``dataset`` is the table of the project, open already: a first picture is drawn from it.
    """
    assert project.roles is not None
    assert project.policy is not None
    settings = settings_of(project, options)
    key = comparison_key(
        project.source,
        options.ledger,
        reading=reading_of(project),
        roles=project.roles.to_mapping(),
        policy=dict(project.policy),
        bins=project.label_bins,
        settings=settings.to_mapping(),
        seed=settings.seed,
        recipient=options.recipient,
    )
    path = comparison_path(project.path)
    before = kept_comparison(path, key)
    if before is not None:
        guide.note("as raced in the last sitting: nothing changed since")
        return before
    decided: dict[str, Any] = {
        "roles": project.roles,
        "policy": project.policy,
        "label_bins": project.label_bins,
    }
    together: dict[str, Any] = {"ledger": options.ledger, "recipient": options.recipient}
    quick = settings.quick()
    if quick is not None and not something_left(project.source, options.ledger, reading_of(project)):
        try:
            with guide.working("a first picture") as progress:
                first = compare(
                    dataset,
                    **decided,
                    settings=quick,
                    reading={},
                    ledger=NO_LEDGER,
                    released_from=ReleaseSource(
                        data=project.source, reading=reading_of(project), ledger=options.ledger
                    ),
                    progress=progress,
                )
            guide.show_first_picture(first)
        except PolicyNotSatisfiedError as error:
            guide.note(f"no first picture: {error}")
    with guide.working("making candidates") as progress:
        comparison = compare(
            project.source, **decided, settings=settings, reading=reading_of(project), **together, progress=progress
        )
    keep_comparison(path, key, comparison)
    return comparison


def settings_of(project: Project, options: Start) -> Settings:
    """What is made: as the options say, else as the project says, else everything."""
    before = dict(project.candidates or {})
    return Settings(
        kinds=tuple(options.candidates) or tuple(before.get("kinds", ())),
        generate=options.generate if options.generate is not None else int(before.get("generate", 40)),
        seconds=options.seconds or (float(before["seconds"]) if "seconds" in before else None),
        seed=project.seed,
        goal=options.goal or before.get("goal"),
    )


def chosen_of(
    project: Project, dataset: Dataset, comparison: Comparison, options: Start, guide: Guide
) -> tuple[Project, tuple[ColumnChange, ...]]:
    name = guide.choose(comparison)
    chosen = comparison.named(name)
    assert project.roles is not None
    changed = becomes(dataset, project.roles, comparison, name)
    guide.show_changes(changed)
    project = replace(project, candidates=settings_of(project, options).to_mapping())
    return with_choice(project, comparison, chosen), changed


def with_choice(project: Project, comparison: Comparison, chosen: ComparedCandidate) -> Project:
    """The project with a candidate that was chosen: its masks, or how its table is made."""
    made = {"name": chosen.name, "kind": chosen.kind}
    if chosen.name in comparison.finished:
        return replace(project, chosen={**made, "method": chosen.name}, configuration=None)
    return replace(project, chosen=made, configuration=to_mapping(comparison.configuration(chosen.name)))


def _release(project: Project, options: Start, guide: Guide) -> GuidedRelease | None:
    out = Path(options.out) if options.out is not None else free_name(project.data, project.folder)
    if not guide.may_release(out):
        return None
    to = Destination(out=out, ledger=options.ledger, recipient=options.recipient, overwrite=options.overwrite)
    left = release_chosen(project, to)
    guide.show_release(left)
    return left


def release_chosen(project: Project, to: Destination, *, data: str | None = None, again: bool = False) -> GuidedRelease:
    """Release what the project has chosen; with ``again`` rows fall into the boxes of the release before."""
    if not project.is_decided or project.roles is None or project.policy is None:
        raise ProjectError(f"{project.path.name} has nothing chosen yet; aegis start goes on where it was left")
    chosen = project.chosen or {}
    made_by: Configuration | Finishing
    if project.configuration is None:
        made_by = Finishing(
            kind=chosen["kind"],
            method=chosen["method"],
            seed=project.seed,
            boxes=boxes_path(project.path),
            again=again,
        )
    else:
        (made_by,) = configurations_from_mapping(project.configuration, name=chosen.get("name", "chosen"))
    return release_candidate(
        data or project.source,
        made_by,
        to,
        roles=project.roles,
        policy=project.policy,
        reading=reading_of(project),
    )


def with_release(project: Project, left: GuidedRelease) -> Project:
    """The project with what left."""
    released = left.released
    stated = released.ledger or {}
    return replace(
        project,
        release={
            "out": _relative(Path(released.out), project.path),
            "certificate": _relative(released.certificate_path, project.path),
            **({"ledger": stated["name"], "number": stated["number"]} if stated else {}),
        },
    )
