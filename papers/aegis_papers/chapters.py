"""The chapters of ``aegis reproduce``: one per paper, imported when asked for.

A chapter is a module of this folder with one public function::

    def reproduce(setting: Setting) -> Reproduction: ...

- ``setting.file("german/german_credit_coded.csv")`` finds public data or raises the error the user should see.
- ``setting.quick`` asks for a few seconds on made-up or bundled data, without any data set; ``setting.seed`` seeds all.
- ``setting.part(name, work, **parameters)`` keeps a finished part: ``work()`` gives a JSON value, and a run that was
  stopped finds it again. What takes longer than some seconds belongs into parts.
- ``setting.progress(done, total, what)`` is called between parts.
- The answer is an `aegis_papers.reproduction.Reproduction`: per table or figure of the paper a `Section` with its
  `Claim` values (`judged` derives the verdict from numbers) and figures as plain data. The paper's values are facts
  with their citation in ``source``; what is ours is computed in the run.

The report and the command need nothing else; a chapter whose module is absent is not offered.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from aegis._version import __version__
from aegis.data.output import check_free
from aegis.errors import InputError
from aegis.operation import operation
from aegis_papers.command import Reproduce
from aegis_papers.reproduction import Reproduction
from aegis_papers.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A paper that can be repeated."""

    name: str
    module: str
    about: str

    @property
    def there(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    def load(self) -> Callable[[Setting], Reproduction]:
        if not self.there:
            raise InputError(f"the chapter {self.name!r} is not part of this version of Aegis")
        return cast(Callable[[Setting], Reproduction], importlib.import_module(self.module).reproduce)


CHAPTERS = {
    chapter.name: chapter
    for chapter in (
        Chapter(
            name="aegis",
            module="aegis_papers.aegis",
            about="choosing a masking configuration without training (Table 2, Figs. 1 and 5 to 11)",
        ),
        Chapter(
            name="mo-obam",
            module="aegis_papers.mo_obam",
            about="microaggregation with several objectives (Tables IV to X, Fig. 2, H1 to H3)",
        ),
        Chapter(
            name="minimax",
            module="aegis_papers.minimax",
            about="minimax sanitisation (Figs. 2 and 3)",
        ),
    )
}


def find(name: str) -> Chapter:
    """The chapter of that name."""
    if name not in CHAPTERS:
        raise InputError(f"there is no chapter {name!r}; choose one of {', '.join(CHAPTERS)}")
    return CHAPTERS[name]


@operation(Reproduce)
def reproduce(options: Reproduce) -> Reproduction:
    """Repeat a paper's tables and figures by its own recipe, and show what the product reaches beside it.

    Finished parts are kept in ``work`` until the run is complete; a folder that was named keeps them for good.
    """
    chapter = find(options.name).load()
    if options.report is not None:
        check_free(Path(options.report), overwrite=options.overwrite)
    setting = Setting(
        chapter=options.name,
        datasets=None if options.datasets is None else Path(options.datasets),
        quick=options.quick,
        seed=options.seed,
        work=Path(options.work) if options.work is not None else None if options.quick else _cache_folder(),
    )
    if options.progress is not None:
        setting = replace(setting, progress=options.progress)
    started = time.process_time()
    done = chapter(setting)
    sections = tuple(replace(section, command=_command(options)) for section in done.sections)
    done = replace(done, sections=sections)
    if not done.cpu_seconds:
        done = replace(done, cpu_seconds=setting.cpu_seconds or time.process_time() - started)
    if options.report is not None:
        from aegis.report.page import write_page  # an extra
        from aegis_papers.page import render_reproduction

        page = render_reproduction(done, version=__version__)
        write_page(Path(options.report), page, overwrite=options.overwrite)
    if options.work is None:
        setting.forget()
    return done


def _command(options: Reproduce) -> str:
    """What a reader types to see the same; folders are his own."""
    words = ["aegis", "reproduce", options.name]
    words += ["--quick"] if options.quick else ["--datasets", "DATA"]
    words += ["--seed", str(options.seed)] if options.seed else []
    return " ".join(words)


def _cache_folder() -> Path:
    """Where parts wait for a run that goes on: the user's cache, not the folder he happens to stand in."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aegis" / "reproduce"
