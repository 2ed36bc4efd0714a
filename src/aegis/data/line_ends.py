"""Lines that end in different ways: files that were joined, or edited on two systems."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BLOCK = 1 << 22


@contextmanager
def evened(path: Path) -> Iterator[Path]:
    """A copy whose lines all end alike, readable by nobody else; what stands in quotes stays as it is."""
    with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
        even = Path(folder) / "even"
        with path.open("rb") as source, even.open("wb") as target:
            quoted, held = False, b""
            while block := source.read(_BLOCK):
                block, held = held + block, b""
                if block.endswith(b"\r"):  # its other half may be in the next block
                    block, held = block[:-1], b"\r"
                parts = block.split(b'"')
                for number, part in enumerate(parts):
                    quoted = quoted != bool(number)  # every quote opens or closes; a doubled one does both
                    if not quoted:
                        parts[number] = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                target.write(b'"'.join(parts))
            target.write(b"\n" if held and not quoted else held)
        yield even
