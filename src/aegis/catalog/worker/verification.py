"""Measuring a release from scratch, as a background job: only what holds up can be downloaded.

The cheap attacks that need no true table run on it as well: what the file alone gives away, and what it gives away
beside the other releases of the product. Counts are shown in steps of five, like every count.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sqlalchemy import select

from aegis.attacks.beside_rows import texts_beside_rows
from aegis.catalog.database.backup import needed_files
from aegis.catalog.database.tables import Product, Release, Request, Summary
from aegis.catalog.records import Standing
from aegis.catalog.service import judged_together, ledger
from aegis.catalog.service.catalog import Catalog, Work, by_id, locked
from aegis.catalog.service.certificates import certificate_text, check_terms, present_policy
from aegis.catalog.service.configurations import known_hierarchies
from aegis.catalog.service.jobs import Claimed
from aegis.catalog.service.notifications import NotificationKind, notify
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.service.releases import provision
from aegis.catalog.service.seen_requests import effective_state
from aegis.catalog.service.signing_keys import check_still_signed
from aegis.catalog.states import KEPT_RELEASES, ReleaseState, RequestState
from aegis.counts.answer import ask
from aegis.counts.disclosure_rule import count_words, shown_count
from aegis.data.hierarchy import Hierarchy
from aegis.errors import AegisError, DataError, TooLargeError, VerificationError
from aegis.library.tables.judging import Texts, open_written, written_texts
from aegis.library.verify import verify
from aegis.masking.configuration_file import certified_configuration
from aegis.progress import Progress
from aegis.releases.certificate import certificate_paths
from aegis.releases.write import is_csv

_BATCH_ROWS = 16_384
_VALUE_BYTES = 1 << 20
_CELL_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was found; ``reason`` is None where everything holds."""

    reason: str | None
    result: dict[str, Any]
    attacks: tuple[dict[str, Any], ...] = ()


def measure_release(catalog: Catalog, claimed: Claimed, progress: Progress) -> Measured:
    """Check the file against its certificate, model by model, and that nothing is in it that no row shows."""
    with catalog.read(SYSTEM) as work:
        row = work.session.get_one(Release, claimed.subject_id)
        hierarchies = known_hierarchies(work, row.product_id)
    progress(10, 100, "opening the release")
    with tempfile.TemporaryDirectory(prefix="aegis-verify-") as place, ExitStack() as open_files:
        file = Path(place) / row.file_name
        file.symlink_to(open_files.enter_context(catalog.store.local(row.digest)).resolve())
        certificate = certificate_paths(file)[0]
        certificate.write_text(certificate_text(row.certificate), encoding="utf-8")
        if not is_csv(file):
            check_decoded_size(file, limit_bytes=catalog.settings.release_decoded_bytes)
        progress(20, 100, "measuring every model of the policy")
        measured = _measured(file, certificate, hierarchies, progress)
        if measured.reason is not None:
            return measured
        progress(90, 100, "attacking it")
        with catalog.read(SYSTEM) as work:
            out = [held for held in ledger.verified(work, row.product_id)[::-1] if held.digest != row.digest]
        earlier = [(held, open_files.enter_context(catalog.store.local(held.digest))) for held in out[:MOST_HELD]]
        return replace(measured, attacks=attack_on_arrival(file, row, earlier, place=Path(place)))


def _measured(file: Path, certificate: Path, hierarchies: dict[str, Hierarchy], progress: Progress) -> Measured:
    try:
        verdict = verify(file, certificate, hierarchies=hierarchies)
        reason = verdict.reason
        result = verdict.to_json()
        if reason is None:
            progress(80, 100, "looking for values beside the rows")
            beside = 0 if is_csv(file) else len(texts_beside_rows(file).entries)
            if beside:
                reason = (
                    f"the file holds {beside:,} values in its dictionaries that no row has; "
                    "write it anew and release it"
                )
    except AegisError as error:
        reason, result = str(error), {}
    return Measured(reason=None if reason is None else reason.replace(str(file), file.name), result=result)


def settle(work: Work, claimed: Claimed, measured: Measured) -> str | None:
    """Write the outcome down, with the request it fulfils; gives the digest of a file that is not needed any more."""
    seen = work.session.get_one(Release, claimed.subject_id)
    request = None if seen.request_id is None else by_id(work, Request, seen.request_id, lock=True)
    row = locked(work, Release, seen.id)
    if row.state != ReleaseState.RECEIVED:
        return row.digest  # withdrawn meanwhile
    product = locked(work, Product, row.product_id)  # from here on nothing else enters its ledger
    row.attacks = list(measured.attacks)
    try:
        despite = _checked(work, row, product, request, measured)
    except VerificationError as error:
        row.state, row.reason = ReleaseState.REFUSED, str(error)
        work.record("release refused", row, state=row.state, digest=row.digest)
        notify(
            work,
            [row.pushed_by],
            NotificationKind.REFUSED,
            words=f"The release {row.file_name} of “{product.title}” was refused; its page says why.",
            path=f"/releases/{row.id}",
            product_id=row.product_id,
            key=f"{NotificationKind.REFUSED.value} {row.id}",
        )
        return row.digest
    row.state = ReleaseState.VERIFIED
    work.record("release verified", row, state=row.state, digest=row.digest)
    work.session.flush()
    ledger.enter(work, row, recipient=None if request is None else request.consumer_id, despite=despite)
    if request is not None:
        provision(work, request, row)
    return None


def _checked(work: Work, row: Release, product: Product, request: Request | None, measured: Measured) -> str | None:
    """Raise where the release does not hold, or something changed since it arrived; gives the reason where it leaves
    despite the ledger."""
    if measured.reason is not None:
        raise VerificationError(measured.reason)
    if request is not None and (state := effective_state(request, work.now)) is not RequestState.APPROVED:
        raise VerificationError(f"the request is {state} meanwhile")
    present = present_policy(row.certificate, product)
    if present.standing is not Standing.SATISFIED:
        raise VerificationError(f"the product changed meanwhile: {present.said}")
    if request is not None:
        check_terms(request, product, row.certificate)
    check_still_signed(work, row)
    try:
        return judged_together.check_arrival(
            work, product, certificate=row.certificate, digest=row.digest, request=request
        )
    except VerificationError:
        if request is not None:
            judged_together.notify_refused(work, request)
        raise


_DRAFT_SECONDS = 24 * 3600.0


def remove_unneeded(catalog: Catalog, digest: str) -> bool:
    """Remove a file unless a summary or a release still needs it; gives whether it was removed."""
    # Nobody can be between keeping a file and committing the row that names it while this lock is held.
    with catalog.store.referring(removing=True) as alone, catalog.read(SYSTEM) as work:
        if not alone:
            return False  # the sweep comes by later
        for needed in (
            select(Summary.id).where(Summary.digest == digest),
            select(Release.id).where(Release.digest == digest, Release.state.in_(KEPT_RELEASES)),
        ):
            if work.session.scalar(needed.limit(1)) is not None:
                return False
        catalog.store.remove(digest)
    return True


def sweep(catalog: Catalog) -> int:
    """Remove every file and old draft that nothing refers to; gives how many."""
    removed = catalog.store.sweep_drafts(older_than_seconds=_DRAFT_SECONDS, now_seconds=time.time())
    with catalog.read(SYSTEM) as work:
        needed = needed_files(work.session)
    for digest in catalog.store.digests():
        if digest not in needed:  # a first look; the second is under the lock
            removed += remove_unneeded(catalog, digest)
    return removed


def check_decoded_size(path: Path, *, limit_bytes: int) -> None:
    """Raise `TooLargeError` where a Parquet file holds more than ``limit_bytes`` when it is decoded.

    A few kilobytes can be gigabytes. The metadata says how many rows and columns there are, not what a value that a
    dictionary repeats adds up to: so columns of text and bytes are read as dictionaries and positions, a batch at a
    time, and lengths are summed up without making a single repeated value.
    """
    try:
        with pq.ParquetFile(path) as plain:
            metadata, schema = plain.metadata, plain.schema_arrow
        cells = metadata.num_rows * metadata.num_columns
        if cells * _CELL_BYTES > limit_bytes:
            raise _too_large(limit_bytes)
        texts = [field.name for field in schema if _has_lengths(field.type)]
        if not texts:
            return
        total = 0
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=texts):
                for column in batch.columns:
                    total += _length(column)
                    if total > limit_bytes:
                        raise _too_large(limit_bytes)
    except (pa.ArrowException, OSError):
        raise DataError("the released table cannot be read as Parquet; release it again") from None


def _has_lengths(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise DataError("a released table has plain columns, no lists or records in them; release it again")
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _length(column: pa.Array) -> int:
    values = column.dictionary if isinstance(column, pa.DictionaryArray) else column
    lengths = pc.binary_length(values)
    longest = pc.max(lengths).as_py()
    if longest is not None and longest > _VALUE_BYTES:
        raise TooLargeError(
            f"the table holds a value of {longest >> 20} MiB, and no value of a release is longer than "
            f"{_VALUE_BYTES >> 20} MiB; leave that column out"
        )
    if isinstance(column, pa.DictionaryArray):
        lengths = lengths.take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)


def _too_large(limit_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"the table would take more than {limit_bytes >> 20} MiB when it is decoded; release fewer rows or columns, or "
        "let an administrator raise release_decoded_bytes"
    )


# The cheap attacks that the catalog can run without the true table, on every release that arrives

MOST_HELD = 5
"""With how many other releases a new one is laid side by side."""
MOST_ROWS = 2_000_000
_Codes = NDArray[np.int64]


def attack_on_arrival(
    file: Path, row: Release, earlier: Sequence[tuple[Release, Path]], *, place: Path
) -> tuple[dict[str, Any], ...]:
    """What each attack found, as the catalog keeps it; nothing is found out about tables of very many rows."""
    texts, rows = _read(file)
    if rows > MOST_ROWS:
        return ()
    attacks = [_order(texts, rows), _alone(texts, rows, row), _same_value(texts, rows, row)]
    for number, (other, path) in enumerate(earlier):
        named = place / f"held-{number}-{other.file_name}"
        named.symlink_to(path.resolve())
        attacks.append(_linked(texts, rows, row, other, named))
    return tuple(attack for attack in attacks if attack is not None)


def _read(file: Path) -> tuple[Texts, int]:
    table = ask(open_written(file, named=file).table)
    return written_texts(table), table.num_rows


def _order(texts: Texts, rows: int) -> dict[str, Any]:
    """Whether the rows stand in the order of a column, far more often than by chance."""
    ordered = []
    for name, (labels, codes) in texts.items():
        rank = np.argsort(np.argsort([label or "" for label in labels]))[codes]
        steps = np.diff(rank)
        moving = steps[steps != 0]
        if len(moving) >= 50 and abs(float((moving > 0).mean()) - 0.5) > 6 * np.sqrt(0.25 / len(moving)):
            ordered.append(name)
    sentence = f"the rows stand in the order of {', '.join(map(repr, ordered))}" if ordered else "no order to be seen"
    return _said("row order", "how the source is sorted", rows, rows if ordered else 0, sentence)


def _alone(texts: Texts, rows: int, row: Release) -> dict[str, Any]:
    """Records that nobody shares the quasi-identifiers with."""
    classes = _classes(texts, _quasi(texts, row), rows)
    sizes = np.bincount(classes)[classes] if len(classes) else classes
    exposed = int((sizes == 1).sum())
    smallest = int(sizes.min()) if len(sizes) else 0
    sentence = f"the smallest group has {count_words(smallest)} records"
    return _said("singled out", "all quasi-identifiers of a person", rows, exposed, sentence)


def _same_value(texts: Texts, rows: int, row: Release) -> dict[str, Any] | None:
    """Records whose whole group has one sensitive value."""
    classes = _classes(texts, _quasi(texts, row), rows)
    sensitive = [name for name in row.certificate["roles"].get("sensitive", ()) if name in texts]
    if not sensitive:
        return None
    exposed = np.zeros(rows, dtype=bool)
    for name in sensitive:
        pairs = np.unique(np.stack([classes, texts[name][1]], axis=1), axis=0)
        exposed |= np.bincount(pairs[:, 0], minlength=int(classes.max(initial=0)) + 1)[classes] == 1
    count = int(exposed.sum())
    sentence = "nobody's group has one value only" if not count else "their whole group has the same sensitive value"
    return _said("same value in a group", "all quasi-identifiers of a person", rows, count, sentence)


def _linked(texts: Texts, rows: int, row: Release, other: Release, path: Path) -> dict[str, Any]:
    """Rows of two releases that belong together, because what both leave as it is occurs once in each."""
    theirs, _ = _read(path)
    plain = sorted(_unmasked(row) & _unmasked(other) & set(texts) & set(theirs))
    knows = f"the release {other.file_name}, and links rows by what both leave as it is"
    name = "put beside another release"
    if not plain:
        return _said(name, knows, rows, 0, "the two leave no column as it is in common")
    mine, yours = _once(texts, plain), _once(theirs, plain)
    count = len(mine & yours)
    columns = ", ".join(map(repr, plain))
    sentence = f"linked by {columns}" if count else f"no row is the only one with its values of {columns} in both"
    return _said(name, knows, rows, count, sentence)


def _once(texts: Texts, columns: Sequence[str]) -> set[tuple[str | None, ...]]:
    """The combinations of values that one row has."""
    shown = [[texts[name][0][code] for code in texts[name][1].tolist()] for name in columns]
    return {values for values, times in Counter(zip(*shown, strict=True)).items() if times == 1}


def _unmasked(release: Release) -> set[str]:
    masked = set(certified_configuration(release.certificate).masks)
    return {name for name in release.certificate["release"]["columns"] if name not in masked}


def _quasi(texts: Texts, row: Release) -> list[str]:
    return [name for name in row.certificate["roles"].get("quasi_identifying", ()) if name in texts]


def _classes(texts: Texts, columns: Sequence[str], rows: int) -> _Codes:
    """A number for each row, the same where the columns are."""
    if not columns:
        return np.zeros(rows, dtype=np.int64)
    codes = np.stack([texts[name][1] for name in columns], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _said(name: str, knows: str, records: int, exposed: int, sentence: str) -> dict[str, Any]:
    return {
        "name": name,
        "knows": knows,
        "records": shown_count(records),
        "exposed": shown_count(exposed),
        "said": sentence,
    }
