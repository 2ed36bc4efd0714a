"""A file that becomes gigabytes, a job that never ends: one failed job with a sentence, and the others go on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aegis.catalog.service import jobs, products
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.jobs import ADVISE, Claimed, enqueue
from aegis.catalog.states import JobState
from aegis.catalog.worker.job_process import JobProcess
from aegis.catalog.worker.loop import run_worker
from aegis.catalog.worker.verification import check_decoded_size
from aegis.errors import AegisError, EngineError, TooLargeError

MIB = 1 << 20


def bomb(path: Path, *, rows: int, value_bytes: int) -> Path:
    """One long value, repeated by a dictionary and squeezed: kilobytes on the disk."""
    values = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * value_bytes]))
    pq.write_table(pa.table({"text": values}), path, compression="zstd", use_dictionary=True)
    return path


@pytest.mark.parametrize(("rows", "value_bytes"), [(200_000, 20 * MIB), (2_000_000, MIB // 2)])
def test_a_small_file_that_becomes_huge_is_refused_without_becoming_it(
    tmp_path: Path, rows: int, value_bytes: int
) -> None:
    path = bomb(tmp_path / "bomb.parquet", rows=rows, value_bytes=value_bytes)
    assert path.stat().st_size < 100_000
    began = pa.total_allocated_bytes()
    with pytest.raises(TooLargeError, match="MiB"):
        check_decoded_size(path, limit_bytes=16 << 30)
    assert pa.total_allocated_bytes() - began < 200 * MIB


def test_honest_tables_pass(tmp_path: Path) -> None:
    path = tmp_path / "fine.parquet"
    pq.write_table(pa.table({"n": list(range(1000)), "t": [f"value {i % 7}" for i in range(1000)]}), path)
    check_decoded_size(path, limit_bytes=MIB)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(AegisError, match="Parquet"):
        check_decoded_size(tmp_path / "broken.parquet", limit_bytes=MIB)


class Wanted:
    """A job that is wanted until it is not."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.stages: list[str] = []

    def __call__(self, done: int, total: int | None, what: str, /) -> None:
        self.stages.append(what)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder from which the process of the jobs takes its work instead of ours."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "import aegis.catalog.worker.loop as loop\n"
        "from aegis.catalog.worker.verification import Measured\n"
        "def do_job(catalog, claimed, progress):\n"
        "    how = claimed.parameters['how']\n"
        "    progress(1, 2, how)\n"
        "    if how == 'memory':\n"
        "        held = [b'x' * (1 << 20) for _ in range(10_000)]\n"
        "    if how == 'time':\n"
        "        time.sleep(600)\n"
        "    if how == 'output':\n"
        "        return Measured(reason=None, result={'text': 'x' * (8 << 20)})\n"
        "    if how == 'death':\n"
        "        os._exit(9)\n"
        "    return Measured(reason=None, result={'how': how})\n"
        "loop.do_job = do_job\n",
        encoding="utf-8",
    )
    return folder


def claimed(how: str) -> Claimed:
    return Claimed(
        id="0" * 32,
        kind=ADVISE,
        product_id="0" * 32,
        subject_id=None,
        parameters={"how": how},
        attempt=1,
        exhausted=False,
    )


@pytest.fixture
def start_runner(
    battered_site: Any, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[float], JobProcess]]:
    """Starts a process for jobs that may each take so many seconds."""
    monkeypatch.setenv("PYTHONPATH", f"{hostile}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    site = battered_site
    url = site.catalog.database.engine.url.render_as_string(hide_password=False)
    with ExitStack() as until_end:

        def start(job_seconds: float) -> JobProcess:
            settings = replace(
                site.catalog.settings,
                job_memory_bytes=500 * MIB,
                job_seconds=job_seconds,
                job_result_bytes=MIB,
                job_attempts=3,
            )
            made = JobProcess(database_url=url, storage=site.catalog.store.root, settings=settings)
            return until_end.enter_context(made)

        yield start


@pytest.fixture
def runner(start_runner: Callable[[float], JobProcess]) -> JobProcess:
    """One whose time is no matter: a busy machine fills memory slowly."""
    return start_runner(120.0)


@pytest.mark.parametrize(("how", "words"), [("memory", "MiB of memory"), ("output", "result"), ("death", "process")])
def test_a_bad_job_ends_with_a_sentence_and_the_next_one_is_done(
    battered_site: Any, runner: JobProcess, how: str, words: str
) -> None:
    with pytest.raises(TooLargeError, match=words):
        runner(battered_site.catalog, claimed(how), Wanted())
    wanted = Wanted()
    assert runner(battered_site.catalog, claimed("fine"), wanted).result == {"how": "fine"}
    assert wanted.stages == ["fine"]


def test_a_job_that_takes_too_long_is_ended(battered_site: Any, start_runner: Callable[[float], JobProcess]) -> None:
    with pytest.raises(TooLargeError, match="longer than the 1 seconds"):
        start_runner(1.0)(battered_site.catalog, claimed("time"), Wanted())


def test_a_database_that_is_not_there_is_no_fault_of_the_job(battered_site: Any) -> None:
    """While the database restarts a process for jobs cannot begin: the job is tried again and not refused."""
    catalog = battered_site.catalog
    gone = "postgresql+psycopg://nobody@127.0.0.1:1/x"  # nobody listens there
    runner = JobProcess(database_url=gone, storage=catalog.store.root, settings=catalog.settings)
    with runner, pytest.raises(EngineError):
        runner(catalog, claimed("fine"), Wanted())


def test_a_job_that_runs_is_cancelled_at_once(battered_site: Any, runner: JobProcess) -> None:
    wanted = Wanted()
    threading.Timer(0.5, wanted.cancelled.set).start()
    with pytest.raises(KeyboardInterrupt):  # at the end of its time it would be too large
        runner(battered_site.catalog, claimed("time"), wanted)


def test_one_bad_job_in_the_queue_fails_once_and_the_others_are_done(battered_site: Any, runner: JobProcess) -> None:
    catalog: Catalog = battered_site.catalog
    with catalog.write(battered_site.admin) as work:
        product = products.product(work, product="clinic")
        listed = [
            enqueue(work, kind=ADVISE, product_id=product.id, subject_id=None, parameters={"how": how, "measure": None})
            for how in ("fine", "memory", "fine", "death", "fine")
        ]
    stop = threading.Event()
    worker = threading.Thread(target=run_worker, args=(catalog, stop), kwargs={"runner": runner, "poll_seconds": 0.05})
    worker.start()
    deadline = time.monotonic() + 120
    states: list[JobState] = []
    while time.monotonic() < deadline:
        with catalog.read(battered_site.admin) as work:
            seen = [jobs.job(work, job_id=job_id) for job_id in listed]
        states = [job.state for job in seen]
        if all(job.ended for job in seen):
            break
        time.sleep(0.1)
    stop.set()
    worker.join(20)
    assert states == [JobState.DONE, JobState.FAILED, JobState.DONE, JobState.FAILED, JobState.DONE]
    assert [job.attempts for job in seen] == [1, 1, 1, 1, 1]
    assert seen[1].error is not None
    assert "memory" in seen[1].error
