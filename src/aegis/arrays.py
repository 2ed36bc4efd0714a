"""Short names of the array types that most rooms work with."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int64]
"""The place of each value in its domain."""
Flags: TypeAlias = NDArray[np.bool_]
"""Whether something holds, one for each."""
