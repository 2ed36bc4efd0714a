"""What a walk will write, looked at before anything is asked: nobody answers six steps to learn a name is taken."""

from __future__ import annotations

from pathlib import Path

from aegis.commands.start import Start
from aegis.data.output import check_apart, check_free
from aegis.data.project import Project
from aegis.errors import OutputError
from aegis.library.guided.started import report_path
from aegis.releases.certificate import certificate_paths
from aegis.releases.write import check_format

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
        for path in (out, *certificate_paths(out)):
            check_free(path, overwrite=options.overwrite)
    if report.is_dir() or (report.exists() and not options.overwrite and not _is_page(report)):
        raise OutputError(f"{report} exists and is no report; choose another name with --report, or add --overwrite")


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return _GENERATOR in file.read(_HEAD_BYTES)
