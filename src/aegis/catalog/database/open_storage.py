"""From what an administrator writes after ``--storage`` to the store: a folder, or a bucket at an s3:// address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from aegis.catalog.database.reference_lock import ReferenceLock
from aegis.catalog.database.storage import FolderStore, Store
from aegis.catalog.settings import LOOPBACK
from aegis.errors import InputError, MissingExtraError

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_EXAMPLE = "s3://BUCKET/PREFIX?endpoint=https://s3.example&region=eu-central-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A place in an object store; who one is there stands in the environment only."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    """The bucket's name is in the path of the address instead of its host, as many stores of one's own want it."""


def is_bucket(storage: str | Path) -> bool:
    """Whether the storage is at an address and not in a folder."""
    return isinstance(storage, str) and "://" in storage


def parse_bucket(address: str) -> Bucket:
    """The bucket of an s3:// address.

    >>> parse_bucket("s3://files/catalog?endpoint=https://minio.example:9000&style=path")
    Bucket(name='files', prefix='catalog', endpoint='https://minio.example:9000', region='', path_style=True)
    """
    try:
        parts = urlsplit(address)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InputError(f"the address of the storage cannot be read; write {_EXAMPLE}") from None
    if "@" in address:
        raise InputError(
            "an address of the storage holds no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
        )
    if parts.scheme != "s3" or not _BUCKET.fullmatch(parts.netloc) or parts.fragment:
        raise InputError(f"files lie in a folder or in a bucket; write the path of a folder or {_EXAMPLE}")
    prefix = unquote(parts.path).strip("/")
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise InputError("the prefix in the bucket is made of letters, digits, dots, strokes and /")
    settings = dict(options)
    if len(settings) != len(options) or not settings.keys() <= {"endpoint", "region", "style"}:
        raise InputError("an address of the storage takes endpoint, region and style, each once")
    if settings.get("style", "host") not in ("host", "path"):
        raise InputError("style is host or path: where the store expects the bucket's name")
    endpoint = settings.get("endpoint", "")
    _check_endpoint(endpoint)
    return Bucket(
        name=parts.netloc,
        prefix=prefix,
        endpoint=endpoint,
        region=settings.get("region", ""),
        path_style=settings.get("style") == "path",
    )


def open_store(storage: str | Path, *, database_url: str, reserve_bytes: int = 0) -> Store:
    """The store at a folder or an s3:// address; its catalog's database says who may remove something."""
    if not is_bucket(storage):
        return FolderStore(Path(storage), reserve_bytes=reserve_bytes)
    bucket = parse_bucket(str(storage))
    try:
        from aegis.catalog.database.object_storage import BucketStore  # an extra
    except ModuleNotFoundError:
        raise MissingExtraError(feature="Storage in an object store", extra="s3") from None
    return BucketStore(bucket, lock=ReferenceLock(database_url), reserve_bytes=reserve_bytes)


def _check_endpoint(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if endpoint and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
        raise InputError("the endpoint of the storage must be an address like https://s3.example")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError("releases would travel to the storage in the clear; its endpoint must be https")
