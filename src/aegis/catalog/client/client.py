"""``aegis.Client``: a catalog from Python, with the errors that the library itself raises."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

from aegis.catalog.client.transport import Transport
from aegis.catalog.records import (
    AccessRequest,
    Comment,
    Configuration,
    Items,
    Job,
    JointVerdict,
    JudgedTogether,
    Notification,
    Product,
    ProductLedger,
    Release,
    Summary,
    read,
)
from aegis.counts.folder import is_summary
from aegis.data.output import drafts_of
from aegis.errors import DataError, EngineError, SummaryError, VerificationError
from aegis.releases.signature import signature_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A release on this machine: the file and the certificate beside it."""

    file: str
    certificate: str
    bytes: int
    sha256: str


class Client(Transport):
    """A catalog, reached with a token.

    Reads and writes that get no answer are sent again; a write carries a key, so that it happens once. Errors of the
    catalog are raised as the classes of `aegis.errors`.
    """

    def __repr__(self) -> str:
        return f"Client({self.url!r})"  # the token stays out of it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def me(self) -> dict[str, Any]:
        """Whose token this is, their roles, and what it may be used for."""
        return dict(self._get("/me"))

    # Products

    def products(
        self, query: str = "", *, tag: str | None = None, owner: str | None = None, mine: bool = False
    ) -> Iterator[Product]:
        """The published products and those one works on, by name; ``query`` is looked for in columns and tags too."""
        items = self._pages("/products", query=query, tag=tag, owner=owner, mine=mine)
        return (read(Product, item) for item in items)

    def product(self, product: str) -> Product:
        """One product by its name or id."""
        return read(Product, self._get(f"/products/{product}"))

    def register(
        self,
        name: str,
        *,
        title: str,
        columns: Sequence[Mapping[str, Any]],
        description: str = "",
        label: str | None = None,
        policy: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
    ) -> Product:
        """A new product, as a draft; ``columns`` are ``{name, kind, role, description?}``."""
        content = {
            "name": name,
            "title": title,
            "description": description,
            "columns": [dict(column) for column in columns],
            "label": label,
            "policy": None if policy is None else dict(policy),
            "tags": list(tags),
        }
        return read(Product, self._post("/products", content))

    def change_product(
        self,
        product: str,
        *,
        version: int,
        title: str | None = None,
        description: str | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        label: str | None = None,
        policy: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
    ) -> Product:
        """Change what is given; `ConflictError` if somebody changed the product since ``version`` was read."""
        changes = {
            "title": title,
            "description": description,
            "columns": None if columns is None else [dict(column) for column in columns],
            "label": label,
            "policy": None if policy is None else dict(policy),
            "tags": None if tags is None else list(tags),
        }
        given = {name: value for name, value in changes.items() if value is not None}
        return read(Product, self._patch(f"/products/{product}", {"version": version, **given}))

    def publish(self, product: str) -> Product:
        """Show a draft to everybody who is signed in."""
        return read(Product, self._post(f"/products/{product}/publish"))

    def retire(self, product: str) -> Product:
        """Take no further requests."""
        return read(Product, self._post(f"/products/{product}/retire"))

    def croissant(self, product: str) -> dict[str, Any]:
        """The product's metadata for other catalogs."""
        return dict(self._get(f"/products/{product}/croissant"))

    # Configurations and summaries

    def configurations(self, product: str) -> list[Configuration]:
        """The configurations of a product, by name."""
        return _configurations(self._get(f"/products/{product}/configurations"))

    def propose(
        self, product: str, content: Mapping[str, Any] | str, *, name: str = "configuration"
    ) -> list[Configuration]:
        """Enter configurations: the mapping or the text of a configuration file."""
        body = {"content": content if isinstance(content, str) else dict(content), "name": name}
        return _configurations(self._post(f"/products/{product}/configurations", body))

    def generate(self, product: str, *, count: int = 20, strength: str = "mixed", seed: int = 0) -> list[Configuration]:
        """Make configurations from the published domains of the current summary."""
        body = {"count": count, "strength": strength, "seed": seed}
        return _configurations(self._post(f"/products/{product}/configurations/generate", body))

    def push_summary(self, product: str, folder: str | Path) -> Summary:
        """Push the folder that ``aegis summarize`` wrote; it becomes the product's current summary."""
        with packed(Path(folder)) as archive:

            def body() -> dict[str, Any]:
                archive.seek(0)
                return {"content": _chunks(archive), "headers": {"Content-Type": "application/gzip"}}

            return read(Summary, self._post(f"/products/{product}/summaries", body=body))

    def histograms(self, product: str) -> list[dict[str, Any]]:
        """The distributions that the current summary publishes."""
        return list(self._get(f"/products/{product}/histograms")["items"])

    # Requests

    def ask(
        self, product: str, *, purpose: str, columns: Sequence[str] = (), days: int = 90, measure: str | None = None
    ) -> AccessRequest:
        """Ask for access; no column named means all that are not identifying."""
        content = {"purpose": purpose, "columns": list(columns), "days": days, "measure": measure}
        return read(AccessRequest, self._post(f"/products/{product}/requests", content))

    def requests(
        self, *, product: str | None = None, state: str | None = None, mine: bool = False
    ) -> Iterator[AccessRequest]:
        """One's own requests and those for products one works on, the newest first."""
        items = self._pages("/requests", product=product, state=state, mine=mine)
        return (read(AccessRequest, item) for item in items)

    def request(self, request_id: str) -> AccessRequest:
        """One request."""
        return read(AccessRequest, self._get(f"/requests/{request_id}"))

    def approve(
        self,
        request_id: str,
        configuration_id: str,
        *,
        version: int | None = None,
        reason: str | None = None,
        despite_ledger: str | None = None,
    ) -> AccessRequest:
        """Approve a request with the configuration that its release must be masked by.

        `VerificationError` where that breaks the policy together with earlier releases, unless ``despite_ledger`` says
        why.
        """
        content = {
            "approve": True,
            "configuration_id": configuration_id,
            "version": version,
            "reason": reason,
            "despite_ledger": despite_ledger,
        }
        return read(AccessRequest, self._post(f"/requests/{request_id}/decision", content))

    def reject(self, request_id: str, reason: str, *, version: int | None = None) -> AccessRequest:
        """Reject a request, with a reason."""
        content = {"approve": False, "reason": reason, "version": version}
        return read(AccessRequest, self._post(f"/requests/{request_id}/decision", content))

    def revoke(self, request_id: str, reason: str) -> AccessRequest:
        """End access."""
        return read(AccessRequest, self._post(f"/requests/{request_id}/revoke", {"reason": reason}))

    def comment(self, request_id: str, words: str) -> Comment:
        """Say something about a request to those who see it."""
        return read(Comment, self._post(f"/requests/{request_id}/comments", {"words": words}))

    def comments(self, request_id: str) -> list[Comment]:
        """What was said about a request, the oldest first."""
        return list(read(Items[Comment], self._get(f"/requests/{request_id}/comments")).items)

    def withdraw(self, request_id: str) -> AccessRequest:
        """Take one's own request back."""
        return read(AccessRequest, self._post(f"/requests/{request_id}/withdraw"))

    # Notifications

    def notifications(self, *, unseen: bool = False) -> Iterator[Notification]:
        """One's notifications, the newest first."""
        return (read(Notification, item) for item in self._pages("/notifications", unseen=unseen))

    def see_notifications(self) -> int:
        """Mark everything as read; gives how many were new."""
        return int(self._post("/notifications/seen")["notifications"])

    # Releases

    def push_release(
        self, product: str, file: str | Path, certificate: str | Path, *, request_id: str | None = None
    ) -> Release:
        """Push a released file with its certificate, for an approved request or for the product as such.

        A signature beside the certificate travels along.
        """
        file, certificate = Path(file), Path(certificate)
        for path in (file, certificate):
            if not path.is_file():
                raise DataError(f"there is no file {path}; check the path")
        beside = signature_path(certificate)
        signed = beside.read_bytes() if beside.is_file() else None
        place = f"/products/{product}/releases" + ("" if request_id is None else f"?request_id={request_id}")
        with file.open("rb") as table:

            def body() -> dict[str, Any]:
                table.seek(0)
                return {
                    "files": [
                        ("certificate", (certificate.name, certificate.read_bytes(), "application/json")),
                        *([] if signed is None else [("signature", (beside.name, signed, "application/json"))]),
                        ("file", (file.name, table, "application/octet-stream")),
                    ]
                }

            return read(Release, self._post(place, body=body))

    def ledger(self, product: str) -> ProductLedger:
        """What was released from a product, and the maskings that may be released next."""
        return read(ProductLedger, self._get(f"/products/{product}/ledger"))

    def judge_together(self, product: str, *, policy_id: str, verdicts: Sequence[JointVerdict]) -> int:
        """Say what several maskings show together, as judged on the rows; gives how many verdicts were taken."""
        content = {"policy_id": policy_id, "verdicts": [asdict(verdict) for verdict in verdicts]}
        return read(JudgedTogether, self._post(f"/products/{product}/ledger/verdicts", content)).verdicts

    def fulfil(self, request_id: str, release_id: str) -> Release:
        """Give an approved request a verified release of the same configuration that is there already."""
        return read(Release, self._post(f"/requests/{request_id}/fulfilment", {"release_id": release_id}))

    def releases(self, product: str) -> Iterator[Release]:
        """The releases of a product that one may see, the newest first."""
        return (read(Release, item) for item in self._pages(f"/products/{product}/releases"))

    def release(self, release_id: str) -> Release:
        """One release with its certificate."""
        return read(Release, self._get(f"/releases/{release_id}"))

    def download(self, release_id: str, out: str | Path, *, overwrite: bool = False) -> Downloaded:
        """Write a release to ``out`` and its certificate beside it; nothing is written if a byte is missing."""
        expected = self.release(release_id)
        file = Path(out)
        beside = file.with_name(f"{file.name}.certificate.json")
        hashed, size = hashlib.sha256(), 0
        with drafts_of([file, beside], overwrite=overwrite) as (draft, certificate):
            with self._download(f"/releases/{release_id}/file") as response, draft.open("wb") as target:
                for chunk in response.iter_bytes(1 << 18):
                    hashed.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
            if hashed.hexdigest() != expected.digest:
                raise VerificationError("what arrived is not the release: its hash differs; download it again")
            content = self._get(f"/releases/{release_id}/certificate")
            certificate.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return Downloaded(file=str(file), certificate=str(beside), bytes=size, sha256=hashed.hexdigest())

    def withdraw_release(self, release_id: str, reason: str) -> Release:
        """Take a release back."""
        return read(Release, self._post(f"/releases/{release_id}/withdraw", {"reason": reason}))

    # Jobs and the record

    def advise(self, product: str, *, measure: str | None = None, request_id: str | None = None) -> Job:
        """Start the advisor on the current summary; see `wait`."""
        content = {"measure": measure, "request_id": request_id}
        return read(Job, self._post(f"/products/{product}/advice", content))

    def job(self, job_id: str) -> Job:
        """One job, with its result when it is done."""
        return read(Job, self._get(f"/jobs/{job_id}"))

    def jobs(self, *, product: str | None = None) -> Iterator[dict[str, Any]]:
        """The jobs of the products one works on, the newest first, without their results."""
        return self._pages("/jobs", product=product)

    def cancel(self, job_id: str) -> Job:
        """Stop a job."""
        return read(Job, self._post(f"/jobs/{job_id}/cancel"))

    def wait(self, job_id: str, *, timeout_s: float = 600.0, progress: Callable[[Job], None] | None = None) -> Job:
        """Look at a job until it has ended."""
        deadline = time.monotonic() + timeout_s
        while True:
            job = self.job(job_id)
            if progress is not None:
                progress(job)
            if job.ended:
                return job
            if time.monotonic() > deadline:
                raise EngineError(f"the job has not ended within {timeout_s:g} seconds; look at it again later")
            time.sleep(0.5)

    def audit(
        self,
        *,
        product: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """What happened, the newest first; the moments are written like 2026-03-01T12:00:00Z."""
        return self._pages("/audit", product=product, actor=actor, action=action, since=since, until=until)


def _configurations(content: Any) -> list[Configuration]:
    return list(read(Items[Configuration], content).items)


def _chunks(file: Any) -> Iterator[bytes]:
    while chunk := file.read(1 << 18):
        yield chunk


_SPOOL_BYTES = 16 << 20


def packed(folder: Path) -> IO[bytes]:
    """The folder's files as a gzip'd tar, at its start; small ones stay in memory. The caller closes it."""
    if not is_summary(folder):
        raise SummaryError(f"{folder} is not a summary; give the folder that aegis summarize wrote")
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        with (
            gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="", compresslevel=6) as smaller,
            tarfile.open(fileobj=smaller, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    content = path.read_bytes()
                    entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
