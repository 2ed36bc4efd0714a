"""The scene of an attack: releases with what is known of their masking, and the true table.

Releases are files with their certificates, or what was released from a table before, made again from its ledger so
that a new release is attacked together with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.arrays import Codes
from aegis.attacks.candidates import People, starred_rows, with_hidden
from aegis.attacks.reading import read_column
from aegis.attacks.scene import HeldRelease, Scene
from aegis.attacks.view import ReadColumn, View
from aegis.counts.answer import ask, encode, plain
from aegis.counts.grouping import group_tuples
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import DataError
from aegis.inspection.telling import known_values, told_columns
from aegis.library.ledgers.earlier_promises import configuration_of, masks_behind
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.tables.judging import open_written, written_texts
from aegis.library.tables.masked_data import all_masks, masked_data
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import STAR
from aegis.privacy.policy import Policy
from aegis.releases.certificate import CertificateKind, certificate_beside
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.row_digest import ABSENT, ROW
from aegis.releases.write import check_released


def scene_of(
    releases: Sequence[tuple[Path, Configuration | None]],
    original: Dataset,
    *,
    roles: Roles,
    policy: Policy | None,
    seed: int,
    unit: str | None = None,
) -> Scene:
    """Open the releases and hold them against the original; a release that is not of it is an error."""
    people = people_of(original)
    as_held = []
    for number, (path, configuration) in enumerate(releases, start=1):
        masks = masks_of(path, configuration, roles)
        table = ask(open_written(path, named=path).table)
        release, people = with_its_hidden(number, held_release(path.name, table, people, masks=masks), people, roles)
        as_held.append(replace(release, path=path))
    shown = {column for release in as_held for column in release.texts}
    told = known_values(told_columns(original, roles, shown))
    scene = Scene(releases=tuple(as_held), people=people, roles=roles, policy=policy, seed=seed, unit=unit, told=told)
    for release in as_held:
        _check_source(scene, release)
    return scene


def people_of(original: Dataset) -> People:
    """The true table, column by column, as codes."""
    table = ask(original.table)
    if not table.num_rows:
        raise DataError(f"{original.name} has no rows; give the table that the releases were made of")
    domains, codes = {}, {}
    for column in original.schema:
        domains[column.name], codes[column.name] = encode(table[column.name], column.kind)
    return People(count=table.num_rows, codes=codes, domains=domains)


def held_release(name: str, table: pa.Table, people: People, *, masks: Mapping[str, Mask]) -> HeldRelease:
    """A release as an attacker reads it."""
    texts = written_texts(table)
    columns = {}
    for column, (labels, codes) in texts.items():
        if column in people.domains:
            domain = people.domains[column]
            counts = np.bincount(people.codes[column], minlength=domain.size)
            reading = read_column(labels, domain, mask=masks.get(column), counts=counts)
            columns[column] = ReadColumn(texts=labels, codes=codes, reading=reading)
    return HeldRelease(name=name, view=View(rows=table.num_rows, columns=columns), texts=texts, masks=masks)


def with_its_hidden(number: int, release: HeldRelease, people: People, roles: Roles) -> tuple[HeldRelease, People]:
    """A release, and the people, with what suppression hides in it: ``number`` tells it from other releases."""
    view, people = with_hidden(
        str(number),
        release.view,
        people,
        starred=starred_rows(release.texts, roles.quasi_identifying),
        known=roles.quasi_identifying,
        masks=release.masks,
    )
    return replace(release, view=view), people


def masks_of(path: Path, configuration: Configuration | None, roles: Roles) -> dict[str, Mask]:
    """What is known of a release's masking: from the configuration that is given, or from the certificate beside it.

    Without either, or where no masks made it, the values are read as they stand.
    """
    check_released(path)
    if configuration is not None:
        return all_masks(configuration, roles)
    certificate = certificate_beside(path, otherwise="give the masks with --config, or remove it")
    if certificate is None or certificate.kind is not CertificateKind.MASKS:
        return {}
    return all_masks(masks_behind(certificate, file=path.name), roles)


def _check_source(scene: Scene, release: HeldRelease) -> None:
    """Raise unless most rows of a release could be of somebody in the original."""
    if not release.view.columns:
        raise DataError(f"{release.name} has no column of the original; give the table that it was made of")
    if not release.view.rows:
        raise DataError(f"{release.name} has no rows; there is nothing to attack")
    whole = scene.whole(release.view)
    somebody = np.zeros(len(whole.class_rows), dtype=bool)
    somebody[whole.listed] = True
    share = float(somebody[whole.class_of].mean())
    if share < 0.5:
        if nobodys := _of_nobody(release):
            raise DataError(
                f"{100 * (1 - share):.0f} % of the rows of {release.name} fit nobody in the original, where nobody has "
                f"its numbers in {', '.join(map(repr, nobodys))}: they are centres of groups, which no attack links by "
                "value (aegis anonymize says what they give away), or those of another table"
            )
        raise DataError(
            f"{100 * (1 - share):.0f} % of the rows of {release.name} fit nobody in the original: it was made of "
            "another table, or by other masks than its certificate says"
        )


def _of_nobody(release: HeldRelease) -> list[str]:
    """The columns whose values are mostly such as nobody in the original has."""
    return [
        name
        for name, column in release.view.columns.items()
        if (column.reading.high <= column.reading.low)[column.codes].mean() > 0.5
    ]


def not_made_again(earlier: EarlierReleases) -> str | None:
    """The entry of a release that counts and cannot be made again: it was finished elsewhere, or a mask drew."""
    for number in earlier.different:
        recorded = earlier.counted[number]
        configuration = _masks_again(recorded)
        if configuration is None or any(mask.is_random for mask in configuration.masks.values()):
            return f"entry {number} ({recorded.name})"
    return None


def releases_made_again(earlier: EarlierReleases, people: People, *, roles: Roles) -> tuple[list[HeldRelease], People]:
    """The releases that count, each as its recipient holds it, and the people with what was hidden of them.

    Rows that are no longer in the table are missing from them. For those only that can all be made again.
    """
    releases = []
    for number in earlier.different:
        recorded = earlier.counted[number]
        configuration = _masks_again(recorded)
        assert configuration is not None, "whoever asks has asked not_made_again"
        masks = {column: mask for column, mask in all_masks(configuration, roles).items() if column in recorded.columns}
        table = _as_it_left(earlier, number, masked_data(earlier.source, masks).dataset.table, roles)
        held = held_release(recorded.name, table.select(list(recorded.columns)), people, masks=masks)
        release, people = with_its_hidden(number, held, people, roles)
        releases.append(release)
    return releases, people


def _masks_again(recorded: RecordedRelease) -> Configuration | None:
    """The masks that a release is made again by; None for one that was finished elsewhere."""
    if recorded.configuration is None and recorded.kind == "as it is":
        return Configuration(name=recorded.name, masks={})
    return configuration_of(recorded)


def _as_it_left(earlier: EarlierReleases, number: int, masked: ir.Table, roles: Roles) -> pa.Table:
    """The rows that were in a release, with stars where records were suppressed."""
    table = ask(masked)
    classes = earlier.rows.classes[earlier.counted[number].rows_as or number]
    place = earlier.rows.found(np.asarray(plain(table[ROW]), dtype=np.int64))
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
