"""Mask rows by a configuration, without a policy: new rows get what the released ones got."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import STAR
from aegis.commands.apply import Apply
from aegis.counts.answer import ask, encode
from aegis.data.engine import read_frame
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.data.yaml_text import dump
from aegis.errors import ConfigurationError
from aegis.library.ledgers.recognition import not_judged_with, note_made_of
from aegis.library.releasing.recode import boxes_in
from aegis.library.tables.masked_data import all_masks, mapping_text, masked_data, roles_with
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table
from aegis.library.tables.unlisted import looks_identifying, warning
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.operation import operation
from aegis.releases.write import blank_is_missing, check_format, is_csv, numbered, write_table
from aegis.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Result):
    """A file of masked rows.

    ``masked`` are the masked columns, ``fitted_here`` those whose masks read something off these rows,
    ``looks_identifying`` those without role and mask that have a value of their own in nearly every row.
    ``not_judged_with`` says that something was released from the table before, which this was not judged with.
    """

    out: Path
    masked: tuple[str, ...]
    fitted_here: tuple[str, ...]
    looks_identifying: tuple[str, ...]
    configuration_id: str
    not_judged_with: str | None = None

    def frame(self) -> pd.DataFrame:
        """The rows as they were written."""
        return read_frame(self.out)

    @property
    def headline(self) -> str:
        return f"{self.out}: {len(self.masked)} columns masked; no policy was checked"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must not be overlooked before the file is given to anybody."""
        texts = [warning(self.looks_identifying)] if self.looks_identifying else []
        return (*texts, *([] if self.not_judged_with is None else [self.not_judged_with]))

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"masked": column, "fitted_here": column in self.fitted_here} for column in self.masked]


@operation(Apply)
def apply(options: Apply) -> Applied:
    """Write the rows, masked by the configuration, to the .csv or .parquet file ``out``.

    Values that the configuration was not fitted on are masked too: numbers fall into the open buckets at the ends,
    noise stays within its limits, a value that a hierarchy or a list of groups does not hold becomes ``*``, pseudonyms
    and tokens are made as for any other. Masks that are not fitted yet are fitted on these rows. Identifying columns
    without a mask are suppressed. Nothing is checked: `check` does that.

    Where ``config`` is a file of boxes, rows fall into them; one with a category that they do not know gets stars.
    Columns that were hidden when the boxes were made are hidden here too.

    Example::

        aegis.apply("clinic.csv", config="configurations/generations.yaml", out="masked.csv")
    """
    target = Path(options.out)
    check_format(target)
    paths = [target, *(Path(path) for path in (options.fitted, options.mapping) if path is not None)]
    check_free(*paths, overwrite=options.overwrite)
    boxes = boxes_in(options.config)
    if boxes is not None:
        return _recoded(boxes, target, options)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    chosen = one_configuration(options.config, hierarchies=hierarchies, data=options.data)
    dataset = open_table(options.data, options)
    roles = roles_with(dataset, chosen)
    rows = dataset if options.shuffle else dataset.with_table(numbered(dataset.table))
    masked = masked_data(rows, all_masks(chosen, roles), strict=False, mappings=options.mapping is not None)
    ready = Configuration(name=chosen.name, masks=masked.masks, label=roles.label, roles=roles)
    table = blank_is_missing(masked.dataset.table) if is_csv(target) else masked.dataset.table
    modes = [PUBLIC, *[PRIVATE] * (len(paths) - 1)]
    suspicious = looks_identifying(dataset, roles, masked=chosen.columns)
    with drafts_of(paths, overwrite=options.overwrite, modes=modes) as (draft, *private):
        write_table(table, draft, like=target, shuffle=options.shuffle)
        texts = [dump(to_mapping(ready))] if options.fitted is not None else []
        texts += [mapping_text(masked.mappings)] if options.mapping is not None else []
        for path, text in zip(private, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        note_made_of(
            options.data,
            replace(dataset, roles=roles),
            draft,
            out=target,
            command="apply",
            changed=tuple(masked.masks),
            suspicious=suspicious,
        )
    return Applied(
        out=target,
        masked=tuple(masked.masks),
        fitted_here=masked.fitted_here,
        looks_identifying=suspicious,
        configuration_id=ready.id,
        not_judged_with=not_judged_with(options.data, dataset, options),
    )


def _recoded(boxes: Boxes, target: Path, options: Apply) -> Applied:
    """New rows in the boxes that were made of others."""
    options.refuse("fitted", "mapping", "hierarchies", because="boxes are fitted already, and name no single values")
    dataset = open_table(options.data, options)
    columns = tuple(column.name for column in boxes.columns)
    absent = [name for name in columns if name not in dataset.schema]
    if absent:
        raise ConfigurationError(
            f"the boxes recode the column {absent[0]!r}, which the table does not have; "
            f"its columns are {', '.join(dataset.schema.names)}"
        )
    rows = ask(dataset.table)
    coded = [encode(rows[name], dataset.schema.kind(name)) for name in columns]
    box = boxes.box_of([domain for domain, _ in coded], np.column_stack([codes for _, codes in coded]))
    names = dict.fromkeys((*dataset.roles.identifying, *boxes.hidden))
    hidden = {name: np.full(len(rows), STAR) for name in names if name in rows.column_names and name not in columns}
    for name, texts in {**boxes.published(box), **hidden}.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(texts.tolist(), type=pa.string()))
    suspicious = looks_identifying(dataset, dataset.roles, masked=(*columns, *hidden))
    with drafts_of([target], overwrite=options.overwrite, modes=[PUBLIC]) as (draft,):
        write_table(ibis.memtable(rows), draft, like=target, shuffle=options.shuffle)
        note_made_of(options.data, dataset, draft, out=target, command="apply", changed=columns, suspicious=suspicious)
    return Applied(
        out=target,
        masked=(*columns, *hidden),
        fitted_here=(),
        looks_identifying=suspicious,
        configuration_id=boxes.id,
        not_judged_with=not_judged_with(options.data, dataset, options),
    )
