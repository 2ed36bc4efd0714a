"""Mask, write, measure what was written, and only then let it leave."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis.expr.types as ir

from aegis._version import __version__
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.output import PRIVATE, PUBLIC, check_apart, check_free, drafts_of
from aegis.data.yaml_text import dump
from aegis.errors import OutputError, PolicyNotSatisfiedError, RoleError
from aegis.library.check import unlisted
from aegis.library.judging import classes_of, read_policy, why_not
from aegis.library.keywords import check_keywords
from aegis.library.masked_data import GivenConfiguration, all_masks, masked_data, roles_with
from aegis.library.proposals import find_hierarchies, one_configuration
from aegis.library.unlisted import looks_identifying
from aegis.library.utility_kept import utility_kept
from aegis.library.written import measure_written, open_written
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.masking.masks.suppress import Suppress
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.narrowed import narrowed, without
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.apply import ValueMapping, with_suppression
from aegis.releases.certificate import FORMAT_VERSION, Certificate, certificate_paths
from aegis.releases.table_hash import sha256_of_table
from aegis.releases.table_output import TableAddress, draft_table, is_url
from aegis.releases.write import blank_is_missing, check_format, is_csv, sha256_of, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A written table with its certificate."""

    out: str
    certificate_path: Path
    rows: int
    suppressed: int
    judgement: Judgement
    certificate: Certificate

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis release --json`` prints."""
        return {
            "out": self.out,
            "certificate": str(self.certificate_path),
            "rows": self.rows,
            "suppressed": self.suppressed,
            **{key: self.certificate.content[key] for key in ("verdicts", "classes", "smallest_class", "utility")},
            "sha256": self.certificate.file_sha256,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A table that is written and not yet released."""

    dataset: Dataset
    sha256: str
    bytes: int | None
    certificate: tuple[Path, Path]


def release(
    data: Any,
    *,
    configuration: GivenConfiguration | None = None,
    policy: Policy | str | Path,
    out: str | Path,
    label: str | None = None,
    columns: Iterable[str] | None = None,
    shuffle: bool = True,
    drop_suppressed: bool = False,
    fitted: str | Path | None = None,
    mapping: str | Path | None = None,
    overwrite: bool = False,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    **options: Any,
) -> Release:
    """Write ``data`` masked by ``configuration`` to ``out`` if, and only if, what is written satisfies ``policy``.

    Without a configuration the table is released as it is: it was anonymized before, by clustering for instance.
    ``columns`` names those that are written; the policy is judged on what is left, and the certificate names the rest.

    ``out`` is a .csv or .parquet file, or the URL of a database table. Records of failing classes are starred in every
    quasi-identifier, up to the policy's limit, or left out with ``drop_suppressed``. Identifying columns without a mask
    of their own are suppressed. Rows are written in random order unless ``shuffle`` is off. ``fitted`` is where to
    write the configuration as it was fitted to these rows, ``mapping`` where to write what became of each value. If the
    policy is not satisfied nothing is written.
    """
    check_keywords(release, options)
    extras = [Path(path) for path in (fitted, mapping) if path is not None]
    paths = _paths(out, extras, overwrite=overwrite)
    check_apart([out, *extras], [data, configuration, policy])
    rules = read_policy(policy)
    if drop_suppressed:
        rules = replace(rules, suppressed=Suppressed.DROPPED)
    known = find_hierarchies(hierarchies, data)
    if configuration is None:
        configuration = Configuration(name="as-it-is", masks={})
    chosen = one_configuration(configuration, hierarchies=known, data=data)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    given = rules.roles_in(dataset.schema, roles_with(dataset, chosen, label=label))
    left_out = _left_out(dataset, columns)
    narrow = narrowed(rules, given, left_out=left_out)
    roles, judging = narrow.roles, narrow.policy
    masks = {column: mask for column, mask in all_masks(chosen, given).items() if column not in left_out}
    masked = masked_data(dataset, masks, mappings=mapping is not None)
    published = _without(masked.dataset, left_out)
    if not is_url(out) and is_csv(Path(out)):
        published = replace(published, table=blank_is_missing(published.table))
    contents = () if roles.label is None else (roles.label,)
    before = classes_of(published, judging, roles, contents=contents, hierarchies=known)
    judged = judge_all(before, judging, suppress=bool(roles.quasi_identifying))
    if not judged.satisfied:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_not(judged, before)}")
    table = with_suppression(published.table, before, judged.released, drop=rules.suppressed is Suppressed.DROPPED)
    kept = utility_kept(dataset, masked.masks, roles, released=judged.released)
    # Whoever applies it to new rows has all columns again: those that were left out must not come back in the clear.
    hidden = {column: Suppress() for column in left_out}
    ready = Configuration(name=chosen.name, masks={**masked.masks, **hidden}, label=roles.label, roles=given)
    kinds = {name: published.schema.kind(name) for name in (*judging.attributes, *contents)}
    with _written(table, out, paths, source=options.get("engine") or data, shuffle=shuffle, overwrite=overwrite) as (
        draft,
        others,
    ):
        written = measure_written(draft.dataset, judging, roles, kinds=kinds, hierarchies=known)
        if not written.satisfied:
            reason = why_not(written, written.released)
            raise PolicyNotSatisfiedError(f"nothing was released: the table as written fails the policy: {reason}")
        certificate = Certificate(
            content={
                "aegis_certificate": FORMAT_VERSION,
                "software": {"aegis": __version__, "engine": dataset.backend.name},
                "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "release": {
                    "name": TableAddress.parse(str(out)).table if is_url(out) else Path(out).name,
                    "sha256": draft.sha256,
                    "bytes": draft.bytes,
                    "rows": written.records,
                    "columns": list(table.columns),
                    "left_out": list(left_out),
                    "shuffled": shuffle,
                },
                "source": {"name": dataset.name, "rows": before.records},
                "roles": {
                    **given.to_mapping(),
                    "unlisted_are_insensitive": [n for n in unlisted(dataset.schema, given) if n not in left_out],
                    "unlisted_that_look_identifying": [
                        n for n in looks_identifying(dataset, given, masked=chosen.columns) if n not in left_out
                    ],
                },
                "kinds": {name: kind.value for name, kind in kinds.items()},
                "hierarchies": {name: known[name].digest for name in judging.hierarchical},
                "policy": rules.to_mapping(),
                "policy_id": rules.id,
                "configuration": {"id": chosen.id, **to_mapping(chosen)},
                "fitted_configuration_id": ready.id,
                "suppressed": {"records": judged.suppressed, "dropped": rules.suppressed is Suppressed.DROPPED},
                "verdicts": written.as_certificate()["models"],
                "classes": written.classes,
                "smallest_class": written.smallest_class,
                "utility": kept,
            }
        )
        draft.certificate[0].write_text(certificate.to_json(), encoding="utf-8")
        draft.certificate[1].write_text(_page(certificate), encoding="utf-8")
        texts = [dump(to_mapping(ready))] if fitted is not None else []
        texts += [mapping_text(masked.mappings)] if mapping is not None else []
        for path, text in zip(others, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    return Release(
        out=str(out),
        certificate_path=paths[-2],
        rows=written.records,
        suppressed=judged.suppressed,
        judgement=written,
        certificate=certificate,
    )


def _left_out(dataset: Dataset, columns: Iterable[str] | None) -> tuple[str, ...]:
    """The columns that are not written, in the table's order."""
    if columns is None:
        return ()
    wanted = {columns} if isinstance(columns, str) else set(columns)
    for name in sorted(wanted):
        dataset.schema.kind(name)  # says which columns there are if it is not one of them
    if not wanted:
        raise RoleError("no column is named that should be written; name some, or leave the choice out for all")
    return tuple(name for name in dataset.schema.names if name not in wanted)


def _without(dataset: Dataset, left_out: tuple[str, ...]) -> Dataset:
    if not left_out:
        return dataset
    opened = open_dataset(dataset.table.drop(*left_out))
    return replace(opened, name=dataset.name, roles=without(dataset.roles, left_out))


def mapping_text(mappings: Sequence[ValueMapping]) -> str:
    """What each value of each column became, as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["column", "value", "masked"])
    for mapping in mappings:
        writer.writerows(mapping.lines())
    return text.getvalue()


def _paths(out: str | Path, extras: Sequence[Path], *, overwrite: bool) -> list[Path]:
    """Every file to be written: the release (unless it is a table), the extras, and the certificate's two."""
    if is_url(out):
        table = TableAddress.parse(str(out)).table
        paths = [*extras, *certificate_paths(Path(table))]
    else:
        check_format(Path(out))
        paths = [Path(out), *extras, *certificate_paths(Path(out))]
    if len({path.absolute() for path in paths}) < len(paths):
        raise OutputError("two of the outputs have the same name; give each its own")
    for path in paths:
        check_free(path, overwrite=overwrite)
    return paths


@contextmanager
def _written(
    table: ir.Table, out: str | Path, paths: Sequence[Path], *, source: Any, shuffle: bool, overwrite: bool
) -> Iterator[tuple[_Draft, list[Path]]]:
    """The table written to where nobody looks yet, with drafts of the other files; all of it appears together."""
    # The mapping and the fitted configuration hold values: not for everybody's eyes.
    modes = [PRIVATE] * len(paths)
    modes[-2:] = [PUBLIC, PUBLIC]
    if is_url(out):
        address = TableAddress.parse(str(out))
        writing = draft_table(table, address, source=source, shuffle=shuffle, overwrite=overwrite)
        with writing as (_, written), drafts_of(paths, overwrite=overwrite, modes=modes) as drafts:
            dataset = open_dataset(written)
            found = _Draft(
                dataset=dataset,
                sha256=sha256_of_table(dataset.table),
                bytes=None,
                certificate=(drafts[-2], drafts[-1]),
            )
            yield found, list(drafts[:-2])
        return
    modes[0] = PUBLIC
    with drafts_of(paths, overwrite=overwrite, modes=modes) as drafts:
        write_table(table, drafts[0], like=paths[0], shuffle=shuffle)
        found = _Draft(
            dataset=open_written(drafts[0], named=paths[0]),
            sha256=sha256_of(drafts[0]),
            bytes=drafts[0].stat().st_size,
            certificate=(drafts[-2], drafts[-1]),
        )
        yield found, list(drafts[1:-2])


def _page(certificate: Certificate) -> str:
    from aegis.report.certificate_report import render_certificate  # an extra

    return render_certificate(certificate.content)
