"""Make configurations to choose from, for one table; and say what sets two of them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, overload

from aegis.commands.configurations import Diff, Generate
from aegis.counts.collect import count_table
from aegis.data.output import check_free
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table
from aegis.library.tables.proposals import generated, to_be_masked
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import (
    check_ending,
    configurations_from_mapping,
    many_to_mapping,
    save_configurations,
)
from aegis.operation import operation
from aegis.result import Result, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Result, Sequence[Configuration]):
    """Configurations that fit a table, one after the other as in a list; ``file`` is where they were written."""

    configurations: tuple[Configuration, ...]
    file: Path | None = None

    @overload
    def __getitem__(self, place: int) -> Configuration: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Configuration]: ...
    def __getitem__(self, place: int | slice) -> Configuration | Sequence[Configuration]:
        return self.configurations[place]

    def __len__(self) -> int:
        return len(self.configurations)

    @property
    def headline(self) -> str:
        return f"{len(self)} configurations"

    def table_rows(self) -> list[dict[str, Any]]:
        return [
            {"configuration": configuration.name, "id": configuration.id, "column": column, "mask": mask.describe()}
            for configuration in self.configurations
            for column, mask in configuration.masks.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis generate --json`` prints; ``definitions`` is what the file holds."""
        return {
            "file": None if self.file is None else str(self.file),
            "configurations": [{"name": c.name, "id": c.id} for c in self.configurations],
            "definitions": many_to_mapping(self.configurations),
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        read = configurations_from_mapping(content["definitions"], name="configuration")
        return {"configurations": read, "file": content["file"]}


@operation(Generate)
def generate(options: Generate) -> Generated:
    """Different configurations that fit the table; the label is never touched. They are written to ``out`` if given.

    Example::

        aegis.generate("clinic.csv", count=3, out="generated.yaml")
    """
    if options.out is not None:
        check_ending(Path(options.out))
        check_free(options.out, overwrite=options.overwrite)
    dataset = open_table(options.data, options)
    label = options.label or dataset.roles.label
    counted = count_table(dataset, label=label, label_bins=options.label_bins, progress=options.progress)
    configurations = generated(
        to_be_masked(counted, dataset.roles, asked=options.mask_columns),
        count=options.count,
        strength=options.strength,
        masks=options.masks,
        seed=options.seed,
        hierarchies=find_hierarchies(options.hierarchies, options.data),
    )
    if options.out is not None:
        save_configurations(configurations, options.out, overwrite=options.overwrite)
    return Generated(configurations=tuple(configurations), file=None if options.out is None else Path(options.out))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Result):
    """What a second configuration does differently; ``first`` and ``second`` are the ids of the two."""

    first: str = field(metadata=called("one"))
    second: str = field(metadata=called("other"))
    lines: tuple[str, ...]
    also_shown: ClassVar[tuple[str, ...]] = ("equal",)

    @property
    def equal(self) -> bool:
        return not self.lines

    @property
    def headline(self) -> str:
        return f"{len(self.lines)} differences" if self.lines else "no difference"

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"difference": line} for line in self.lines]


@operation(Diff)
def diff(options: Diff) -> Difference:
    """What the second configuration does differently: ``+`` masked there only, ``-`` here only, ``~`` in both.

    Example::

        aegis.diff("configurations/light.yaml", "configurations/strict.yaml")
    """
    first = one_configuration(options.first, hierarchies=options.hierarchies)
    second = one_configuration(options.second, hierarchies=options.hierarchies)
    return Difference(first=first.id, second=second.id, lines=tuple(first.diff(second)))
