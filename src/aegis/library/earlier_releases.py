"""What left of a table before, made again from its ledger, so that a new release is attacked together with it."""

from __future__ import annotations

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.attacks.candidates import People
from aegis.attacks.hidden import starred_rows, with_hidden
from aegis.attacks.scene import HeldRelease
from aegis.counts.answer import ask, plain
from aegis.counts.grouping import Codes, group_tuples
from aegis.data.schema import Roles
from aegis.library.attack_scene import held_release, written_texts
from aegis.library.masked_data import all_masks, masked_data
from aegis.library.shown_columns import configuration_of, draws
from aegis.library.standing import Standing
from aegis.masking.configuration import Configuration
from aegis.masking.masks.suppress import STAR
from aegis.releases.ledger_entry import Leaving
from aegis.releases.row_classes import ABSENT
from aegis.releases.row_digest import ROW


def not_made_again(standing: Standing) -> str | None:
    """The entry of a release that counts and cannot be made again: it was finished elsewhere, or a mask drew."""
    for number in _firsts(standing):
        leaving = standing.counted[number]
        configuration = _masks_again(leaving)
        if configuration is None or any(draws(mask) for mask in configuration.masks.values()):
            return f"entry {number} ({leaving.name})"
    return None


def earlier_releases(standing: Standing, people: People, *, roles: Roles) -> tuple[list[HeldRelease], People]:
    """The releases that count, each as its recipient holds it, and the people with what was hidden of them.

    Rows that are no longer in the table are missing from them. For those only that can all be made again.
    """
    held = []
    for number in _firsts(standing):
        leaving = standing.counted[number]
        configuration = _masks_again(leaving)
        assert configuration is not None, "whoever asks has asked not_made_again"
        masks = {column: mask for column, mask in all_masks(configuration, roles).items() if column in leaving.columns}
        table = _as_it_left(standing, number, masked_data(standing.source, masks).dataset.table, roles)
        release = held_release(leaving.name, table.select(list(leaving.columns)), people, masks=masks)
        view, people = with_hidden(
            str(number),
            release.view,
            people,
            starred=starred_rows(release.texts, roles.quasi_identifying),
            known=roles.quasi_identifying,
            masks=masks,
        )
        held.append(HeldRelease(name=release.name, view=view, texts=release.texts, masks=masks))
    return held, people


def _firsts(standing: Standing) -> tuple[int, ...]:
    """Of releases that show the same the first."""
    firsts: dict[int, int] = {}
    for number, leaving in standing.counted.items():
        firsts.setdefault(leaving.rows_as or number, number)
    return tuple(firsts.values())


def _masks_again(leaving: Leaving) -> Configuration | None:
    """The masks that a release is made again by; None for one that was finished elsewhere."""
    if leaving.configuration is None and leaving.kind == "as it is":
        return Configuration(name=leaving.name, masks={})
    return configuration_of(leaving)


def _as_it_left(standing: Standing, number: int, masked: ir.Table, roles: Roles) -> pa.Table:
    """The rows that were in a release, with stars where records were suppressed."""
    table = ask(masked)
    classes = standing.rows.classes[standing.counted[number].rows_as or number]
    place = standing.rows.found(np.asarray(plain(table[ROW]), dtype=np.int64))
    own = np.where(place >= 0, classes[np.maximum(place, 0)], ABSENT).astype(np.int64)
    present = own != ABSENT
    table, own = table.filter(pa.array(present)), own[present]
    quasi = [name for name in roles.quasi_identifying if name in table.column_names]
    if not quasi or not len(own):
        return table
    texts = written_texts(table.select(quasi))
    tuples = np.stack([texts[name][1] for name in quasi], axis=1)
    shown = group_tuples(tuples, [len(texts[name][0]) for name in quasi])[1]
    starred = _mixed(own, shown)[own]
    for name in quasi:
        labels, codes = texts[name]
        cells = [STAR if hidden else labels[code] for hidden, code in zip(starred, codes, strict=True)]
        table = table.set_column(table.column_names.index(name), name, pa.array(cells, type=pa.string()))
    return table


def _mixed(classes: Codes, shown: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which classes hold several of the tuples that masks show: those of suppressed records."""
    pairs = np.unique(np.stack([classes, shown], axis=1), axis=0)
    return np.asarray(np.bincount(pairs[:, 0], minlength=int(classes.max()) + 1) > 1)
