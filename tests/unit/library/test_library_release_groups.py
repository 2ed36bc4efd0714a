"""What a certificate says of the groups that values were put into."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import aegis


def test_a_certificate_counts_the_records_of_every_group(tmp_path: Path) -> None:
    frame = pd.DataFrame({"colour": ["red", "blue", "green", "white"] * 10 + ["red"], "y": ["a"] * 41})
    groups = {"warm": ["red"], "cold": ["blue", "green"]}
    done = aegis.release(
        frame,
        policy={"quasi_identifying": ["colour"], "k": 5, "insensitive": ["y"]},
        config={"masks": {"colour": {"regroup": {"groups": groups, "other": "rest"}}}},
        out=tmp_path / "colours.csv",
    )
    assert done.certificate.content["group_records"] == {"colour": [11, 20]}
    assert "warm (11 records)" in done.certificate_path.with_suffix(".html").read_text()
