"""What version 0.1 wrote is read, and says the same: summaries, rankings, configurations, policies, certificates.

The files lie in tests/fixtures/v0.1 and were written by version 0.1.0 from a made-up table of 240 records.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from aegis.counts.folder import read_summary
from aegis.library.verify import verify
from aegis.masking.configuration_file import load_configurations
from aegis.privacy.policy import Policy
from aegis.ranking.rank import rank

HOME = Path(__file__).parents[1] / "fixtures" / "v0.1"
RANKINGS = {
    "ranking_2d.json": ("summary_2d", None),
    "ranking_2d_mi.json": ("summary_2d", "mutual-information"),
    "ranking_1d.json": ("summary_1d", None),
    "ranking_opaque.json": ("summary_opaque", None),
}


def stored(name: str) -> Any:
    return json.loads((HOME / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RANKINGS)
def test_a_summary_gives_the_ranking_that_it_gave(name: str) -> None:
    folder, measure = RANKINGS[name]
    then = stored(name)
    now = rank(read_summary(HOME / folder), measure=measure)
    assert (now.label, now.measure, now.rows) == (then["label"], then["measure"], then["rows"])
    assert [entry.configuration for entry in now.ranking] == [entry["configuration"] for entry in then["ranking"]]
    for entry, before in zip(now.ranking, then["ranking"], strict=True):
        assert (entry.rank, entry.id, entry.like_best) == (before["rank"], before["id"], before["like_best"])
        assert entry.utility == pytest.approx(before["utility"])
        assert entry.deviation == pytest.approx(before["deviation"])
        assert entry.retained == pytest.approx(before["retained"])


def test_configurations_keep_their_ids() -> None:
    ids = {entry["configuration"]: entry["id"] for entry in stored("ranking_2d.json")["ranking"]}
    loaded = {each.name: each.id for each in load_configurations(HOME / "configurations.yaml")}
    assert loaded == ids


def test_a_policy_keeps_its_id() -> None:
    certificate = stored("release.csv.certificate.json")
    assert Policy.read(HOME / "policy.yaml").id == certificate["policy_id"]
    assert Policy.from_mapping(certificate["policy"]).id == certificate["policy_id"]


def test_a_release_is_verified_against_its_certificate(tmp_path: Path) -> None:
    result = verify(HOME / "release.csv", HOME / "release.csv.certificate.json")
    assert result.verified
    certificate = stored("release.csv.certificate.json")
    assert certificate["release"]["rows"] == 240
    assert result.to_json()["models"] == certificate["verdicts"]
    for file in ("release.csv", "release.csv.certificate.json"):
        shutil.copy(HOME / file, tmp_path)
    changed = tmp_path / "release.csv"
    changed.write_text(changed.read_text(encoding="utf-8").replace("flu", "cold", 1), encoding="utf-8")
    assert not verify(changed, tmp_path / "release.csv.certificate.json").verified
