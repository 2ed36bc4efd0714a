"""The example in the documentation runs and says what the text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "microaggregation.md"


def test_the_example_of_the_concepts_page() -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    names: dict[str, Any] = {}
    exec(found.group(1), names)
    assert names["search"].result_.smallest_class >= 2
    assert names["search"].result_.after.homogeneity == 0
    assert list(names["columns"]) == ["age", "sex"]
