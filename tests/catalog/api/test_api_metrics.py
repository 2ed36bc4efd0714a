"""Metrics for whoever has their token, added up over processes; logs as JSON lines. Neither names people or values."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from aegis.catalog.server.app import create_site
from aegis.catalog.server.supervisor import JsonLines

TOKEN = "a token for metrics"


def test_metrics_are_for_whoever_has_the_token(stage: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request_id = stage.new_request(stage.product)
    monkeypatch.setenv("AEGIS_METRICS_TOKEN", TOKEN)
    with serve(create_site(stage.catalog)) as url, httpx.Client(base_url=url) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            assert client.get("/metrics", headers=headers).status_code == 401
        client.get(f"/api/v1/requests/{request_id}")
        client.request("BREW", "/somewhere")
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    waiting = {sample.labels["state"]: sample.value for sample in families["aegis_requests"].samples}
    assert waiting["pending"] >= 1
    assert {"aegis_jobs", "aegis_deliveries", "aegis_oldest_job_seconds", "aegis_audit_rows"} <= set(families)
    seen = {(sample.labels["method"], sample.labels["route"]) for sample in families["aegis_request_seconds"].samples}
    assert {method for method, _ in seen} <= {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"}
    assert request_id not in answer.text
    assert "consumer" not in answer.text


def test_without_a_token_there_are_no_metrics(stage: Any) -> None:
    assert stage.http.get(f"{stage.url}/metrics").status_code == 404


_TWO_PROCESSES = """
import os, subprocess, sys
from aegis.catalog.server.metrics import count_request
count_request(method="GET", route="/products", status=200, seconds=0.01)
if len(sys.argv) > 1:
    sys.exit()
subprocess.run([sys.executable, __file__, "again"], check=True)
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
registry = CollectorRegistry()
multiprocess.MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


def test_what_several_processes_count_is_added_up(tmp_path: Any) -> None:
    (tmp_path / "counts").mkdir()
    script = tmp_path / "two.py"
    script.write_text(_TWO_PROCESSES, encoding="utf-8")
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "counts")}
    printed = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)
    families = {family.name: family for family in text_string_to_metric_families(printed.stdout)}
    counts = [each.value for each in families["aegis_request_seconds"].samples if each.name.endswith("_count")]
    assert counts == [2.0]


def test_a_log_line_is_one_object_and_an_error_only_a_name() -> None:
    error = RuntimeError("a value of a record")
    given = (RuntimeError, error, None)
    record = logging.LogRecord("aegis.x", logging.ERROR, "", 0, "it %s", ("broke\noff",), given)
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line)["error"] == "RuntimeError"
    assert json.loads(line)["message"] == "it broke\noff"
    assert "a value of a record" not in line
