"""What the catalog's commands answer: read back from their JSON, shown without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aegis.catalog.commands.of_catalog import CATALOG
from aegis.catalog.commands.pull import Pulled
from aegis.catalog.commands.push import (
    ProposedConfiguration,
    ProposedConfigurations,
    PushedRelease,
    PushedSummary,
    PushedTogether,
    RegisteredProduct,
)
from aegis.catalog.commands.serve import Serving, ServingDemo
from aegis.catalog.commands.upkeep import Archive, AuditVerdict
from aegis.catalog.commands.worker import ProvidedPart, ProvidedParts, WorkDone
from aegis.commands.command import Command
from aegis.errors import InputError
from aegis.result import Result

RESULTS: dict[str, tuple[Result, int]] = {  # with the exit status of the command
    "audit verify": (AuditVerdict(rows=3, intact=False, first_broken=2, reason="row 2 was changed", head="ab"), 1),
    "backup": (
        Archive(
            archive=Path("c.tar"),
            created_at="2026-01-01",
            aegis="0.2.0",
            form="1",
            rows={"users": 2},
            files=1,
            file_bytes=9,
            audit_rows=4,
            audit_head="ab",
        ),
        0,
    ),
    "provide": (
        ProvidedParts(provided=(ProvidedPart(what="release", product="clinic", request="r1", reason="k is 2"),)),
        1,
    ),
    "pull": (
        Pulled(
            file=Path("c.csv"),
            certificate=Path("c.csv.certificate.json"),
            release="ab",
            present_policy={"standing": "not satisfied", "said": "k is 5 now"},
            verification={"verified": True, "checks": [{"name": "hash", "passed": True, "said": "as certified"}]},
        ),
        0,
    ),
    "push product": (
        RegisteredProduct(id="p", name="clinic", state="draft", columns=({"name": "age", "role": "sensitive"},)),
        0,
    ),
    "push configurations": (
        ProposedConfigurations(
            configurations=(ProposedConfiguration(id="c", name="m1", content_id="ab", described={"age": "hidden"}),)
        ),
        0,
    ),
    "push summary": (PushedSummary(id="s", product="clinic", level="2d", rows=7, digest="ab"), 0),
    "push together": (PushedTogether(product="clinic", judged=12, broken=3), 0),
    "push release": (PushedRelease(id="r", state="refused", reason="k is 2", digest="ab", file_name="c.csv"), 1),
    "serve": (Serving(url="http://h", setup_link="http://h/link/SECRET", storage="s", processes=2, run=lambda: 0), 0),
    "demo-catalog": (ServingDemo(url="http://h", product="clinic", people={"admin": "SECRET"}, run=lambda: 0), 0),
    "worker": (WorkDone(jobs_done=3), 0),
}


def test_every_command_of_the_catalog_is_here() -> None:
    assert {made.name for made in CATALOG} == {*RESULTS, "restore"}, "restore answers as backup does"


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_written_and_read_as_json_and_shows_itself(name: str) -> None:
    result, status = RESULTS[name]
    written = json.loads(json.dumps(result.to_json(), allow_nan=False))
    again = type(result).from_json(written)
    assert again.to_json() == result.to_json() == written
    assert again.exit_status == result.exit_status == status
    assert again.warnings == result.warnings
    assert result.headline != type(result).__name__
    assert len(result.to_pandas()) == len(result.table_rows()) > 0
    assert "SECRET" not in repr(result)
    with pytest.raises(InputError):
        type(result).from_json({})


@pytest.mark.parametrize("made", CATALOG, ids=lambda made: made.name)
def test_what_a_command_does_is_where_it_says(made: Command) -> None:
    assert callable(made.operation())


def test_a_policy_that_was_tightened_is_not_overlooked() -> None:
    assert RESULTS["pull"][0].warnings == ("k is 5 now",)
