"""The container file, the compose file and the systemd unit say what they must, and use options that exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from aegis.catalog.commands.serve import Serve
from aegis.catalog.server.api.app import description
from aegis.operation import fields_of

FOLDER = Path(__file__).parents[2] / "packaging"


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8")))


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(FOLDER / "aegis-catalog.service", encoding="utf-8")
    return parser


def entrypoint() -> str:
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    return " ".join(re.findall(r'"([^"]+)"', text.split("ENTRYPOINT")[1]))


def test_the_image_does_not_run_as_root_and_says_whether_it_is_well() -> None:
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    last = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER [1-9]\d*$", last, re.MULTILINE), "a number, so that a cluster can see that it is not root"
    address = re.search(r"http://127\.0\.0\.1:8080(/[^']+)'", last)
    assert address is not None
    assert address[1] in description()["paths"]
    assert "HEALTHCHECK" in last


@pytest.mark.parametrize(
    "command",
    [
        " ".join(
            re.findall(r'"([^"]+)"', (FOLDER / "Containerfile").read_text(encoding="utf-8").split("ENTRYPOINT")[1])
        ),
        compose()["services"]["catalog"]["entrypoint"][-1],
        unit()["Service"]["ExecStart"],
    ],
    ids=["container", "compose", "systemd"],
)
def test_every_option_of_aegis_serve_exists(command: str) -> None:
    given = set(re.findall(r"--([a-z-]+)", command.split("aegis serve")[1]))
    known = {field.flag.removeprefix("--") for field in fields_of(Serve)}
    assert given <= known
    assert "behind-proxy" in given, "nothing else encrypts here"


def test_the_containers_have_no_more_than_they_need() -> None:
    catalog = compose()["services"]["catalog"]
    assert catalog["read_only"] is True
    assert catalog["cap_drop"] == ["ALL"]
    assert catalog["ports"] == ["127.0.0.1:8080:8080"], "a proxy with TLS stands in front"
    assert "no-new-privileges:true" in catalog["security_opt"]
    assert any("/api/v1/health" in part for part in catalog["healthcheck"]["test"])
    written = yaml.safe_dump(compose()).lower()
    assert "postgres_password:" not in written, "a password is a secret and no variable"


def test_the_unit_is_confined() -> None:
    service = unit()["Service"]
    for key, value in {
        "DynamicUser": "yes",
        "ProtectSystem": "strict",
        "NoNewPrivileges": "yes",
        "StateDirectoryMode": "0700",
        "CapabilityBoundingSet": "",
    }.items():
        assert service[key] == value, key
