"""A file of arrays and a JSON header (.npz): readable without running any code, nothing in it is a pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, EOFError)
"""What reading such a file raises, or its content, where it is another file or a damaged one."""


def write_arrays(stream: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write the arrays, and the header among them."""
    described = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **arrays, header=described)


def read_arrays(path: Path) -> tuple[Any, dict[str, Array]]:
    """The header and the arrays; raises FileNotFoundError, or one of `UNREADABLE`."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays["header"].tobytes().decode()), arrays
