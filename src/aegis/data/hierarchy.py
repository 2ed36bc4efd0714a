"""Hierarchies: what each value of a column generalises to, level by level.

They are read and written as ARX does it: a CSV file without a header, one line per value, the value itself first
(level 0), the most general label last, fields separated by semicolons. Commas are read as well.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aegis.data.domain import Domain, show
from aegis.errors import HierarchyError

TOP = "*"
_FILE_NAME = re.compile(r"^(?P<dataset>.*?)_?hierarchy_(?P<column>.+)\.csv$")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hierarchy:
    """For each value, its labels from level 0 (the value itself) upwards.

    Every value has as many levels as the others, and what is one label stays together in all levels above.

    >>> hierarchy = Hierarchy.parse("1;odd;*\\n2;even;*\\n3;odd;*\\n")
    >>> hierarchy, hierarchy.at(1)
    (Hierarchy(3 values, levels 0 to 2), {'1': 'odd', '2': 'even', '3': 'odd'})
    """

    rows: tuple[tuple[str, ...], ...]
    layout: Layout = field(default_factory=lambda: Layout(), compare=False)

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0]:
            raise HierarchyError("a hierarchy needs at least one value; the file is empty")
        ragged = sum(len(row) != len(self.rows[0]) for row in self.rows)
        if ragged:
            raise HierarchyError(
                f"{ragged} lines of the hierarchy do not have {len(self.rows[0])} fields as its first line has; "
                "give every value the same number of levels"
            )
        repeated = len(self.rows) - len({row[0] for row in self.rows})
        if repeated:
            raise HierarchyError(f"the hierarchy lists {repeated} values more than once; keep one line per value")
        for level in range(1, self.levels - 1):
            parents: dict[str, set[str]] = {}
            for row in self.rows:
                parents.setdefault(row[level], set()).add(row[level + 1])
            split = sum(len(labels) > 1 for labels in parents.values())
            if split:
                raise HierarchyError(
                    f"{split} labels of level {level} of the hierarchy fall apart again at level {level + 1}; "
                    "each label must lie within one label of the next level"
                )

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.rows)} values, levels 0 to {self.top})"

    @property
    def levels(self) -> int:
        """How many levels there are, level 0 included."""
        return len(self.rows[0])

    @property
    def top(self) -> int:
        """The highest level."""
        return self.levels - 1

    @property
    def digest(self) -> str:
        """A name for its content: equal hierarchies have equal digests, whatever file they came from."""
        content = "\x1e".join("\x1f".join(row) for row in sorted(self.rows))
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def __hash__(self) -> int:
        return hash((len(self.rows), self.levels, self.rows[0]))

    def at(self, level: int) -> dict[str, str]:
        """The label of each value at a level."""
        if not 0 <= level <= self.top:
            raise HierarchyError(f"the hierarchy has levels 0 to {self.top}, not {level}")
        return {row[0]: row[level] for row in self.rows}

    def groups(self, level: int) -> dict[str, tuple[str, ...]]:
        """The values of each label at a level."""
        grouped: dict[str, list[str]] = {}
        for value, label in self.at(level).items():
            grouped.setdefault(label, []).append(value)
        return {label: tuple(values) for label, values in grouped.items()}

    def check_covers(self, domain: Domain, *, column: str) -> None:
        """Raise if the domain holds values that the hierarchy does not."""
        covered = {row[0] for row in self.rows}
        absent = sum(show(value) not in covered for value in domain.values.tolist())
        if absent:
            raise HierarchyError(
                f"the hierarchy of column {column!r} misses {absent} of the column's {len(domain.values)} values; "
                "add a line for each to its file"
            )

    @classmethod
    def of(cls, rows: Iterable[Sequence[object]]) -> Hierarchy:
        """From one sequence of labels per value, value first."""
        rows = list(rows)
        if any(label is None or isinstance(label, list | tuple | dict) for row in rows for label in row):
            raise HierarchyError("a hierarchy holds texts and numbers only; write each of its labels out")
        return cls(rows=tuple(tuple(show(label) for label in row) for row in rows))

    @classmethod
    def parse(cls, text: str) -> Hierarchy:
        """Read the CSV form; the layout is remembered, so that `to_csv` gives the same bytes back."""
        text = text.removeprefix("\ufeff")
        layout = Layout.of(text)
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter)
        try:
            rows = tuple(tuple(row) for row in lines if row)
        except csv.Error:
            raise HierarchyError(f"line {lines.line_num} of the hierarchy is not valid CSV; check its quotes") from None
        return cls(rows=rows, layout=layout)

    def to_csv(self) -> str:
        """The CSV form."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=self.layout.delimiter, lineterminator=self.layout.newline)
        writer.writerows(self.rows)
        text = out.getvalue()
        return text if self.layout.final_newline else text.removesuffix(self.layout.newline)

    @classmethod
    def read(cls, path: Path | str) -> Hierarchy:
        """Read an ARX hierarchy file."""
        path = Path(path)
        try:
            with path.open(encoding="utf-8", newline="") as file:
                return cls.parse(file.read())
        except OSError:
            raise HierarchyError(f"the hierarchy file {path} cannot be opened; check its name") from None
        except UnicodeDecodeError:
            raise HierarchyError(f"the hierarchy file {path} is not UTF-8 text; save it as UTF-8") from None
        except HierarchyError as error:
            raise HierarchyError(f"{path}: {error}") from None

    def write(self, path: Path | str) -> None:
        """Write an ARX hierarchy file."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.write(self.to_csv())


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a hierarchy file separates its fields and lines; the default is ARX's."""

    delimiter: str = ";"
    newline: str = "\n"
    final_newline: bool = True

    @classmethod
    def of(cls, text: str) -> Layout:
        """Read it off the file: semicolons, unless only commas occur in the first line."""
        newline = "\r\n" if "\r\n" in text else "\n"
        first = text.split("\n", 1)[0]
        delimiter = "," if ";" not in first and "," in first else ";"
        return cls(delimiter=delimiter, newline=newline, final_newline=text.endswith("\n"))


def file_name(dataset: str, column: str) -> str:
    """The name ARX gives to a hierarchy file.

    >>> file_name("adult", "native-country")
    'adult_hierarchy_native-country.csv'
    """
    return f"{dataset}_hierarchy_{column}.csv"


def read_hierarchies(folder: Path | str) -> dict[str, Hierarchy]:
    """All hierarchies of a folder by column: ``<dataset>_hierarchy_<column>.csv``, or ``<column>.csv``."""
    folder = Path(folder)
    if not folder.is_dir():
        raise HierarchyError(f"there is no folder {folder} to read hierarchies from")
    return {column: Hierarchy.read(path) for column, path in hierarchy_files(folder).items()}


def hierarchy_files(folder: Path) -> dict[str, Path]:
    """The file of each column; none where there is no such folder."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.csv")):
        match = _FILE_NAME.match(path.name)
        column = match["column"] if match else path.stem
        if column in files:
            raise HierarchyError(f"{folder} holds two hierarchies of column {column!r}; keep one")
        files[column] = path
    return files


def write_hierarchies(hierarchies: Mapping[str, Hierarchy], folder: Path | str, *, dataset: str) -> None:
    """Write one ARX file per column, into a folder that is made if it is not there."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for column, hierarchy in hierarchies.items():
        hierarchy.write(Path(folder) / file_name(dataset, column))
