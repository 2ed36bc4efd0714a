"""A release that is written and that nobody sees yet: its draft, the files beside it, and what is measured on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import ibis.expr.types as ir

from aegis.commands.release import Release
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.data.output import PRIVATE, PUBLIC, check_apart, check_free, drafts_of
from aegis.data.yaml_text import dump
from aegis.errors import OutputError
from aegis.library.releasing.release_source import ReleaseCounts, Source, judged_kinds
from aegis.library.tables.masked_data import MaskedData, mapping_text
from aegis.library.tables.written import check_written, open_written
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.privacy.judgement import Judgement
from aegis.releases.certificate import Certificate, certificate_paths
from aegis.releases.row_digest import OWN, POSITION, sha256_of_table
from aegis.releases.signature import signature_path
from aegis.releases.write import TableAddress, check_format, draft_table, is_url, look_into, write_table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """A table that is written and not yet released, with the drafts of the files beside it."""

    dataset: Dataset
    sha256: str
    bytes: int | None
    certificate: Path
    page: Path
    fitted: Path | None
    mapping: Path | None

    def write(self, certificate: Certificate, *, fitted: Configuration, mapped: MaskedData) -> None:
        """Fill the files beside the table; they appear with it."""
        from aegis.report.certificate_report import render_certificate  # an extra

        texts = {self.certificate: certificate.to_json(), self.page: render_certificate(certificate.content)}
        if self.fitted is not None:
            texts[self.fitted] = dump(to_mapping(fitted))
        if self.mapping is not None:
            texts[self.mapping] = mapping_text(mapped.mappings)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")


def output_paths(options: Release) -> list[Path]:
    """Every file to be written: the release (unless it is a table), the extras, and the certificate's two."""
    extras = [Path(path) for path in (options.fitted, options.mapping) if path is not None]
    if is_url(options.out):
        table = TableAddress.parse(str(options.out)).table
        paths = [*extras, *certificate_paths(Path(table))]
    else:
        check_format(Path(options.out))
        paths = [Path(options.out), *extras, *certificate_paths(Path(options.out))]
    if len({path.absolute() for path in paths}) < len(paths):
        raise OutputError("two of the outputs have the same name; give each its own")
    for path in (*paths, *((signature_path(paths[-2]),) if options.sign is not None else ())):
        check_free(path, overwrite=options.overwrite)
    check_apart([options.out, *extras], [options.data, options.config, options.policy])
    return paths


@contextmanager
def draft_of(table: ir.Table, paths: Sequence[Path], options: Release) -> Iterator[Draft]:
    """The table written to where nobody looks yet, with drafts of the other files; all of it appears together."""
    table = _without_own_columns(table, options)
    # The mapping and the fitted configuration hold values: not for everybody's eyes.
    modes = [PRIVATE] * len(paths)
    modes[-2:] = [PUBLIC, PUBLIC]
    if is_url(options.out):
        address = TableAddress.parse(str(options.out))
        source = options.engine or options.data
        writing = draft_table(table, address, source=source, shuffle=options.shuffle, overwrite=options.overwrite)
        with writing as (_, written), drafts_of(paths, overwrite=options.overwrite, modes=modes) as drafts:
            dataset = as_dataset(written)
            yield _draft(dataset, sha256_of_table(dataset.table), None, drafts, options)
        return
    modes[0] = PUBLIC
    with drafts_of(paths, overwrite=options.overwrite, modes=modes) as (file, *drafts_beside):
        write_table(table, file, like=paths[0], shuffle=options.shuffle)
        seen = look_into(file, named=paths[0])
        dataset = open_written(file, named=paths[0], header=seen.header)
        yield _draft(dataset, seen.sha256, seen.bytes, drafts_beside, options)


def _without_own_columns(table: ir.Table, options: Release) -> ir.Table:
    """What others get: without the columns that only the library uses, in the source's order if that is asked."""
    own = [name for name in table.columns if name.startswith(OWN)]
    if not options.shuffle and POSITION in own:
        table = table.order_by(POSITION)
    return table.drop(*own)


def _draft(dataset: Dataset, sha256: str, size_bytes: int | None, beside: Sequence[Path], options: Release) -> Draft:
    *extras, certificate, page = beside
    return Draft(
        dataset=dataset,
        sha256=sha256,
        bytes=size_bytes,
        certificate=certificate,
        page=page,
        fitted=None if options.fitted is None else extras[0],
        mapping=None if options.mapping is None else extras[-1],
    )


def measure_draft(draft: Draft, source: Source, counts: ReleaseCounts, *, judged: Judgement) -> Judgement:
    """Judge the written table from scratch, as `verify` will, and see that it is what was ``judged``."""
    return check_written(
        draft.dataset,
        source.judged_policy,
        source.published_roles,
        kinds=judged_kinds(source, counts),
        hierarchies=source.hierarchies,
        judged=judged,
        verb="released",
    )
