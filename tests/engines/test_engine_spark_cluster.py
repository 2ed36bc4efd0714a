"""A standalone Spark cluster on this machine, a master and two workers: what users mean by ``spark://``."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aegis

WORKERS = 2
POLICY = "quasi_identifying: [age, town]\nsensitive: [ill]\nk: 3\nl: {ill: 2}\nmax_suppression: 0.2\n"
# Nothing is asked before both executors are there: on a busy machine the first would answer everything alone.
DEFAULTS = """
spark.sql.shuffle.partitions  2
spark.cores.max  2
spark.scheduler.minRegisteredResourcesRatio  1.0
spark.scheduler.maxRegisteredResourcesWaitingTime  600s
spark.ui.enabled  false
spark.driver.extraJavaOptions  -XX:TieredStopAtLevel=1
spark.executor.extraJavaOptions  -XX:TieredStopAtLevel=1
"""
ASK = """
import json, sys, aegis
data, policy, config, out, engine = sys.argv[1:]
summary = aegis.summarize(data, engine=engine, label="ill", configs=config, race=False)
check = aegis.check(data, policy=policy, engine=engine)
done = aegis.release(data, config=config, policy=policy, out=out, label="ill", engine=engine)
from pyspark.sql import SparkSession
context = SparkSession.getActiveSession().sparkContext
executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of those
spark = {"master": context.master, "executors": executors}
joints = {name: one.joint.counts.tolist() for name, one in summary.attributes.items()}
print(json.dumps({"joints": joints, "check": check.to_json(), "spark": spark}))
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each, all of them processes of ours."""
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install openjdk-17-jre-headless to try a cluster as well")
    home = Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    deploy, local = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port", "0")
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    log = tmp_path / "cluster.log"
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> None:
        words = [str(home / "bin" / "spark-class"), *command]
        with log.open("ab") as written:
            # spark-class becomes java itself, so that the process to end is the one started here
            started.append(subprocess.Popen(words, env=environment, stdout=written, stderr=subprocess.STDOUT))

    def wait_for(line: str, *, times: int) -> None:
        deadline = time.monotonic() + 600  # a busy machine takes its time
        while (text := log.read_text(errors="replace")).count(line) < times:
            assert all(process.poll() is None for process in started), text[-2000:]
            assert time.monotonic() < deadline, text[-2000:]
            time.sleep(0.1)

    try:
        # A worker that finds no master asks again only after five to fifteen seconds.
        start(f"{deploy}.master.Master", *local, "--port", str(port))
        wait_for("Starting Spark master at", times=1)
        for number in range(WORKERS):
            place = ("--work-dir", str(tmp_path / f"worker-{number}"))
            start(f"{deploy}.worker.Worker", *local, "--cores", "1", "--memory", "1g", *place, address)
        wait_for("Successfully registered with master", times=WORKERS)
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=600)


def test_a_cluster_counts_judges_and_releases_as_the_embedded_engine(cluster: str, tmp_path: Path) -> None:
    ages, towns = [20 + 7 * i % 50 for i in range(600)], ["north" if i % 3 else "south" for i in range(600)]
    table = pa.table({"age": ages, "town": towns, "ill": ["yes" if i % 5 < 2 else "no" for i in range(600)]})
    data, policy, config = tmp_path / "people", tmp_path / "policy.yaml", tmp_path / "tens.yaml"
    data.mkdir()
    for number in range(4):  # partitions enough for both workers
        pq.write_table(table.slice(150 * number, 150), data / f"{number}.parquet")
    policy.write_text(POLICY, encoding="utf-8")
    config.write_text("age: {bucketize: {width: 10}}\n", encoding="utf-8")
    released = tmp_path / "released.parquet"
    settings = tmp_path / "settings"  # as a cluster's owner sets them: few partitions for few rows
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(DEFAULTS, encoding="utf-8")
    words = [sys.executable, "-c", ASK, *map(str, (data, policy, config, released, cluster))]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(settings)}
    answer = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr[-2000:]
    told = json.loads(answer.stdout.splitlines()[-1])
    assert told["spark"] == {"master": cluster, "executors": WORKERS}
    here = aegis.summarize(table, label="ill", configs=config, race=False)
    joints = {name: one.joint for name, one in here.attributes.items()}
    assert told["joints"] == {name: joint.counts.tolist() for name, joint in joints.items() if joint is not None}
    assert told["check"] == aegis.check(table, policy=policy).to_json()
    assert pq.read_table(released).num_rows == 600
    assert aegis.verify(released, str(released) + ".certificate.json").verified
