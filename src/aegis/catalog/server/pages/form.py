"""What a browser sends: fields and files, read with limits and without trust."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import quote

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request

from aegis.errors import InputError, TooLargeError

FIELDS_LIMIT_BYTES = 2_000_000
_MOST_FIELDS = 3000
_MOST_FILES = 4
_LONGEST_FIELD_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that was sent; it lies in memory or in a temporary file, and is gone after the answer."""

    name: str
    stream: BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The fields of a form; a name may come several times."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """The field without spaces around it; the default where it was not sent."""
        return self.raw(name, default).strip()

    def raw(self, name: str, default: str = "") -> str:
        """The field as it was typed: passwords may begin with a space."""
        return self.fields[name][0] if name in self.fields else default

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a field, for boxes that are ticked."""
        return self.fields.get(name, ())

    def whole(self, name: str, *, what: str) -> int:
        """The field as a whole number."""
        text = self.text(name)
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise InputError(f"{what} must be a whole number; write digits only")
        return int(text)

    def file(self, name: str, *, what: str) -> Upload:
        """The file of a field."""
        if name not in self.files:
            raise InputError(f"{what} is missing; choose a file")
        return self.files[name]


async def read_form(request: Request, *, limit_bytes: int) -> tuple[Form, FormData]:
    """Read a form; whoever calls closes the second part when the answer is made."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    files = kind == "multipart/form-data"
    stream = _limited(request, limit_bytes if files else FIELDS_LIMIT_BYTES)
    limits: dict[str, int] = {"max_fields": _MOST_FIELDS, "max_part_size": _LONGEST_FIELD_BYTES}
    try:
        if files:
            data = await MultiPartParser(request.headers, stream, max_files=_MOST_FILES, **limits).parse()
        elif kind == "application/x-www-form-urlencoded":
            data = await FormParser(request.headers, stream, **limits).parse()
        else:
            data = FormData()
    except (MultiPartException, FormParserError, KeyError):
        raise InputError("the form cannot be read, or a field is too long; send it again from its page") from None
    try:
        return _checked(data), data
    except InputError:
        await data.close()
        raise


def _checked(data: FormData) -> Form:
    fields: dict[str, list[str]] = {}
    files: dict[str, Upload] = {}
    for name, value in data.multi_items():
        if isinstance(value, UploadFile):
            if value.filename:  # a file field that was left empty comes without a name
                files[name] = Upload(name=clean_name(value.filename), stream=value.file)
        elif "\x00" in value or "\x00" in name:
            raise InputError("a field holds a character that no text has; type it again")
        else:
            fields.setdefault(name, []).append(value)
    return Form(fields={name: tuple(values) for name, values in fields.items()}, files=files)


def clean_name(name: str) -> str:
    """A file's own name, without folders and control characters.

    >>> clean_name("C:\\\\data\\\\clinic.csv"), clean_name("../../x.parquet")
    ('clinic.csv', 'x.parquet')
    """
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c for c in last if c.isprintable())[:200] or "file"


def attachment(name: str) -> str:
    """The header that makes a browser save the file under its name.

    >>> attachment("clinic.csv")
    "attachment; filename*=UTF-8''clinic.csv"
    """
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


async def _limited(request: Request, limit_bytes: int) -> AsyncGenerator[bytes, None]:
    too_much = f"more than {limit_bytes:,} bytes were sent; send a smaller file"
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated) > limit_bytes:
        raise TooLargeError(too_much)
    seen = 0
    async for part in request.stream():
        seen += len(part)
        if seen > limit_bytes:
            raise TooLargeError(too_much)
        yield part
