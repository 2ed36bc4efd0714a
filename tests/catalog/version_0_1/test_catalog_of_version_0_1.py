"""A catalog of version 0.1 is opened, and a backup of it restored: nothing is lost.

The two files beside this test were written by 0.1.0 from the clinic example with 400 rows: the SQLite file of its
catalog, and a backup of the same.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from aegis.catalog.database.backup import restore
from aegis.catalog.database.connection import Database, current_form
from aegis.catalog.service import (
    audit_log,
    configurations,
    jobs,
    products,
    releases,
    seen_requests,
    sessions,
    summaries,
)
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.states import ReleaseState, RequestState
from aegis.releases.certificate import Certificate, CertificateKind

HERE = Path(__file__).parent
PASSWORD = "a clinic that nobody visits"
HEAD = "ff014d38aa34331dccd215fed5d17187d517c313e9e4f265dad8f604c5b163a2"


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(lzma.decompress((HERE / f"{name}.xz").read_bytes()))
    return path


def everything_is_there(catalog: Catalog) -> str:
    """The id of the release, after a look at every kind of record."""
    admin = sessions.sign_in(catalog, name="admin", password=PASSWORD, address="test").actor
    with catalog.read(admin) as work:
        product = products.product(work, product="clinic")
        assert len(product.columns) == 11
        assert product.policy_lines
        assert len(configurations.list_configurations(work, product="clinic")) == 12
        summary = summaries.current(work, product="clinic")
        assert summary is not None
        assert summary.rows == 400
        assert summaries.histograms(work, product="clinic")
        ranked = jobs.latest_ranking(work, product="clinic")
        assert ranked is not None
        assert jobs.ranking_of(ranked).best.rank == 1
        listed = seen_requests.list_requests(work).items
        assert {request.state for request in listed} == {RequestState.PROVISIONED, RequestState.PENDING}
        assert audit_log.verify(work, expected_head=HEAD).intact
        (release,) = releases.list_releases(work, product="clinic").items
        assert release.state is ReleaseState.VERIFIED
        assert Certificate(content=dict(release.certificate)).kind is CertificateKind.MASKS
    return release.id


def test_the_database_of_0_1_is_opened(tmp_path: Path) -> None:
    database = unpacked("catalog.sqlite", tmp_path)
    with Catalog.open(f"sqlite:///{database}", tmp_path / "storage") as catalog:
        everything_is_there(catalog)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_backup_of_0_1_is_restored_with_its_files(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'new.sqlite'}" if kind == "sqlite" else request.getfixturevalue("new_postgres")()
    manifest = restore(unpacked("catalog.backup", tmp_path), database_url=url, storage=tmp_path / "storage")
    assert (manifest.aegis, manifest.form, manifest.files) == ("0.1.0", "0002", 2)
    with Catalog.open(url, tmp_path / "storage") as catalog:
        release_id = everything_is_there(catalog)
        admin = sessions.sign_in(catalog, name="admin", password=PASSWORD, address="test").actor
        with catalog.write(admin) as work:
            opened = releases.open_download(work, release_id=release_id)
        with opened.stream as stream:
            assert len(stream.read()) == opened.release.bytes


def test_a_backup_of_an_older_form_is_filled_in_that_form_and_then_brought_up_to_date(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path / 'old.sqlite'}", form="0001")
    with database.read() as session:
        assert current_form(session.connection()) == "0001"
    database.close()
    url = f"sqlite:///{tmp_path / 'old.sqlite'}"
    with Catalog.open(url, tmp_path / "storage") as catalog, catalog.database.read() as session:
        assert current_form(session.connection()) != "0001"
