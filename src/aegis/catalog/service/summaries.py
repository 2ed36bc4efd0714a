"""Summaries on arrival: streamed to a draft, unpacked with care, checked, and only then entered.

A push has two steps. `incoming` checks the permission, takes the bytes in and checks them, without holding the
database; `receive` enters what was checked in the caller's transaction::

    with summaries.incoming(catalog, actor, product="clinic", stream=body) as checked, catalog.write(actor) as work:
        view = summaries.receive(work, checked)

An archive comes from outside: only the files a summary has are taken, under names of our own choosing; links, devices,
absolute paths and paths that climb are refused, and so is whatever grows beyond the limits while it is unpacked,
whatever its header says.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from sqlalchemy import Select, select, update

from aegis.catalog import records
from aegis.catalog.database.storage import Draft, Store, Stream, limited
from aegis.catalog.database.tables import Product, User
from aegis.catalog.database.tables import Summary as SummaryRow
from aegis.catalog.records import Page, record_of
from aegis.catalog.service.catalog import Catalog, Work, of_current_summary, room_left, visible_product
from aegis.catalog.service.checks import checked_document, policy_of, printable, schema_of
from aegis.catalog.service.configurations import enter_unknown
from aegis.catalog.service.disclosure import facts_of, histogram_views, shown_exposure
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Actor, Permission
from aegis.catalog.settings import Settings
from aegis.counts.folder import MANIFEST, read_summary
from aegis.counts.summary import Summary, configuration_of
from aegis.data.schema import Role
from aegis.errors import AegisError, ConflictError, NotFoundError, SummaryError, TooLargeError
from aegis.masking.configuration import Configuration
from aegis.privacy.policy import Policy

DEFAULT_K = 5
_READING = threading.BoundedSemaphore(1)
"""A summary takes twenty times its size in memory while it is read: one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSummary:
    """A summary that arrived whole and passed every check that needs no lock."""

    product_id: str
    draft: Draft
    facts: Mapping[str, Any]
    kinds: Mapping[str, str | None]
    configurations: tuple[Configuration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSummary:
    """A summary's archive; whoever gets it closes ``stream``."""

    summary: records.Summary
    stream: BinaryIO


@contextmanager
def incoming(catalog: Catalog, actor: Actor, *, product: str, stream: Stream) -> Iterator[CheckedSummary]:
    """Take in a zip or tar of a summary folder and check it; the draft vanishes at the end unless it was received."""
    with catalog.read(actor) as work:
        product_row = visible_product(work, product, Permission.PUSH_SUMMARY)
        room = room_left(work, product_row.id, limit_bytes=catalog.settings.summary_bytes)
    draft = catalog.store.draft(stream, limit_bytes=room)
    try:
        with _READING, unpacked(draft.path, catalog.settings) as folder:
            summary = read_carefully(folder)
        _check_names(summary)
        kinds = {name: _kind(attribute.domain) for name, attribute in summary.attributes.items()}
        kinds[summary.label] = None  # a label may have been divided into ranges
        _check_fits(summary.label, kinds, product_row)
        facts = facts_of(summary, smallest_class=_smallest_class(policy_of(product_row)))
        catalog.store.stage(draft)
        yield CheckedSummary(
            product_id=product_row.id,
            draft=draft,
            facts=facts,
            kinds=kinds,
            configurations=_complete_configurations(summary, product_row),
        )
    finally:
        catalog.store.discard(draft)


def receive(work: Work, checked: CheckedSummary) -> records.Summary:
    """Make the checked summary the product's current one; configurations that only it knows are entered with it."""
    product = visible_product(work, checked.product_id, Permission.PUSH_SUMMARY, lock=True)
    _check_fits(checked.facts["label"], checked.kinds, product)  # the product may have changed meanwhile
    stored = work.keep(checked.draft)
    work.session.execute(
        update(SummaryRow).where(SummaryRow.product_id == product.id, SummaryRow.current).values(current=False)
    )
    row = work.add(
        SummaryRow(
            product_id=product.id,
            digest=stored.digest,
            bytes=stored.bytes,
            pushed_by=work.user_id,
            created_at=work.now,
            current=True,
            **checked.facts,
        )
    )
    work.record(
        "summary pushed", row, digest=row.digest, rows=row.rows, level=row.level, configurations=len(row.configurations)
    )
    enter_unknown(work, product, checked.configurations)
    return _view(row, work.actor.name)


def current(work: Work, *, product: str) -> records.Summary | None:
    """The product's current summary, None where it has none."""
    query = _of_product(visible_product(work, product)).where(SummaryRow.current)
    row = work.session.execute(query).one_or_none()
    return None if row is None else _view(*row)


def list_summaries(work: Work, *, product: str, page: PageRequest = FIRST) -> Page[records.Summary]:
    """All summaries of a product, the newest first."""
    query = _of_product(visible_product(work, product))
    return page_of(work.session, query, _view, keys=(SummaryRow.created_at, SummaryRow.id), page=page, descending=True)


def _of_product(product: Product) -> Select[*tuple[Any, ...]]:
    pushed = select(SummaryRow, User.name).join(User, User.id == SummaryRow.pushed_by)
    return pushed.where(SummaryRow.product_id == product.id)


def histograms(work: Work, *, product: str) -> list[records.Histogram]:
    """The distributions that the current summary publishes: values of enough records, the rest together."""
    product_row = visible_product(work, product)
    return histogram_views(of_current_summary(work, product_row.id, SummaryRow.histograms) or [])


def open_archive(work: Work, *, product: str) -> OpenedSummary:
    """The current summary's archive as it was pushed, for those who work on the product."""
    product_row = visible_product(work, product, Permission.SEE_JOBS)
    view = current(work, product=product_row.id)
    if view is None:
        raise NotFoundError("the product has no summary yet; push one first")
    return OpenedSummary(summary=view, stream=work.store.open(view.digest))


def _check_fits(label: str, kinds: Mapping[str, str | None], product: Product) -> None:
    """Raise unless label and columns are those of the product and none of them identifies."""
    if product.label is None:
        raise ConflictError("the product has no label yet; name it before pushing a summary")
    if label != product.label:
        raise SummaryError("the summary is about another label than the product's; summarize it for that label")
    by_name = {column["name"]: column for column in product.columns}
    for name, kind in kinds.items():
        if name not in by_name:
            raise SummaryError("the summary counts a column that the product does not have; change one of the two")
        if by_name[name]["role"] == Role.IDENTIFYING:
            raise SummaryError(f"the summary counts {name!r}, which identifies people; leave it out")
        if kind is not None and kind != by_name[name]["kind"]:
            raise SummaryError(
                f"the summary takes {name!r} for {kind}, the product for {by_name[name]['kind']}; change one of the two"
            )


def _check_names(summary: Summary) -> None:
    """Raise unless every name in it can be stored and shown."""
    names = [summary.label, *summary.attributes, *(configuration.name for configuration in summary.configurations)]
    if not all(isinstance(name, str) and 0 < len(name) <= 200 and printable(name) for name in names):
        raise SummaryError("the summary has names that are empty, too long or cannot be shown; rename them")
    if not summary.rows <= 2**53:
        raise SummaryError("the summary counts more rows than there can be; write it again")
    checked_document(
        [configuration.id for configuration in summary.configurations], what="the ids of the configurations"
    )


def _complete_configurations(summary: Summary, product: Product) -> tuple[Configuration, ...]:
    """The configurations that the summary holds in full and that fit the product's columns."""
    if summary.opaque:
        return ()
    schema, complete = schema_of(product.columns), []
    for counted in summary.configurations:
        try:
            masks = configuration_of(summary, counted.name)
            masks.check(schema)
        except AegisError:
            continue
        if masks.id == counted.id:  # it may mask columns that the summary does not count
            complete.append(masks)
    return tuple(complete)


def _kind(domain: Any) -> str | None:
    return None if domain is None or domain.discretised else domain.kind.value


def _smallest_class(policy: Policy | None) -> int:
    for model in () if policy is None else policy.models:
        if model.name == "k-anonymity":
            return max(int(model.threshold), 2)
    return DEFAULT_K


def _view(row: SummaryRow, pushed_by: str) -> records.Summary:
    shown = {"configurations": tuple(row.configurations), "exposure": shown_exposure(row.exposure)}
    return record_of(records.Summary, row, pushed_by=pushed_by, **shown)


# A summary in one file, zip or tar, unpacked with care

_NAME = re.compile(r"(?:[A-Za-z0-9._-]{1,100}/)?(summary\.json|attributes/[0-9]{1,6}\.json)")
_MOST_AT_ONCE = 2 << 20  # no honest archive asks for more in one read; a forged header does
_CHUNK = 1 << 16


class _Careful(io.RawIOBase):
    """A file that refuses to be read in one huge piece, as forged archive headers ask for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._end - self._file.tell(), 0)
        size = left if size is None or size < 0 else size
        if size > _MOST_AT_ONCE:
            raise SummaryError("the archive has a table of contents that no summary has; pack the folder again")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@contextmanager
def unpacked(path: Path, settings: Settings) -> Iterator[Path]:
    """The summary folder of an archive, in a temporary place."""
    with tempfile.TemporaryDirectory(prefix="aegis-summary-") as place:
        folder = Path(place) / "summary"
        (folder / "attributes").mkdir(parents=True)
        with path.open("rb") as file:
            _unpack(file, folder, settings)
        yield folder


@contextmanager
def opened_summary(store: Store, digest: str, settings: Settings) -> Iterator[Summary]:
    """A summary of the store, read."""
    with store.local(digest) as file, unpacked(file, settings) as folder:
        yield read_carefully(folder)


def read_carefully(folder: Path) -> Summary:
    """Read and check a summary from outside: whatever is wrong with it is one sentence without paths or values."""
    try:
        return read_summary(folder)
    except AegisError as error:
        sentence = str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "the summary")
        raise SummaryError(sentence) from None
    except (
        Exception,
        MemoryError,
        RecursionError,
    ) as error:  # a forged file may break anything, and must break nothing
        raise SummaryError(
            f"the summary does not follow the summary format ({type(error).__name__}); write it again with "
            "aegis summarize"
        ) from None


def _unpack(file: BinaryIO, folder: Path, settings: Settings) -> None:
    start = file.read(4)
    file.seek(0)
    try:
        if start[:2] == b"PK":
            with zipfile.ZipFile(_Careful(file)) as archive:
                _write_entries(_of_zip(archive), folder, settings)
        elif start[:2] == b"\x1f\x8b":
            with tempfile.TemporaryFile() as plain, gzip.GzipFile(fileobj=file) as squeezed:
                # Room for the headers of the entries, of a thousand bytes and more each.
                room = settings.summary_unpacked_bytes + 4_096 * settings.summary_files
                for chunk in limited(iter(lambda: squeezed.read(_CHUNK), b""), limit_bytes=room):
                    plain.write(chunk)
                plain.seek(0)
                _unpack_tar(plain, folder, settings)
        else:
            _unpack_tar(file, folder, settings)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError):
        raise SummaryError("the archive is broken, or neither zip nor tar; pack the summary folder again") from None
    except (ValueError, OSError, RuntimeError, OverflowError) as error:
        if isinstance(error, AegisError):
            raise
        raise SummaryError("the archive cannot be unpacked; pack the summary folder again") from None


def _unpack_tar(file: Any, folder: Path, settings: Settings) -> None:
    with tarfile.open(fileobj=_Careful(file), mode="r:") as archive:
        _write_entries(_of_tar(archive), folder, settings)


def _of_zip(archive: zipfile.ZipFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        kind = entry.external_attr >> 28  # the type of a Unix file; 0 where the archive does not say
        if kind not in (0, 0o10) or entry.flag_bits & 1:
            raise SummaryError("the archive holds links or locked files; pack the summary folder alone")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SummaryError("the archive is packed in an unusual way; use plain zip or tar")
        with archive.open(entry) as stream:
            yield entry.filename, stream


def _of_tar(archive: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in archive:
        if entry.isdir():
            continue
        stream = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
        if stream is None:
            raise SummaryError("the archive holds links or devices; pack the summary folder alone")
        with stream:
            yield entry.name.removeprefix("./"), stream


def _write_entries(entries: Iterable[tuple[str, IO[bytes]]], folder: Path, settings: Settings) -> None:
    left, seen = settings.summary_unpacked_bytes, set()
    for name, stream in entries:
        match = _NAME.fullmatch(name)
        if match is None:
            raise SummaryError("the archive holds files that no summary has; pack the summary folder alone")
        inside = match.group(1)
        if inside in seen:
            raise SummaryError("the archive holds a file twice; pack the summary folder again")
        seen.add(inside)
        if len(seen) > settings.summary_files:
            raise TooLargeError(f"the archive holds more than the {settings.summary_files} files that are accepted")
        with (folder / inside).open("xb") as file:
            pieces = iter(lambda s=stream: s.read(_CHUNK), b"")  # type: ignore[misc]
            for chunk in limited(pieces, limit_bytes=min(left, settings.summary_file_bytes)):
                file.write(chunk)
                left -= len(chunk)
    if MANIFEST not in seen:
        raise SummaryError(f"the archive holds no {MANIFEST}; pack the folder that aegis summarize wrote")
