"""A command that a page or a terminal shows is pasted into a shell: every name in it arrives as one word."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from aegis.catalog.database.tables import Configuration, Release
from aegis.catalog.service import configurations, products, requests, sessions
from aegis.catalog.service.checks import checked_file_stem, checked_line
from aegis.errors import InputError
from aegis.operation import word
from aegis.report.certificate_report import certificate_parts

HOSTILE = (
    "nice.yaml;touch pwned #",
    "nice\ntouch pwned\n",
    "$(touch pwned)",
    "`touch pwned`",
    "a' && touch pwned && 'b",
    'a" | touch pwned | "b',
    "x > pwned",
    "tab\ttouch pwned",
    "*",
    "~",
    "back\\slash",
)
ECHO = "#!/usr/bin/env python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"


def pasted(text: str, folder: Path) -> list[list[str]]:
    """What the shell gives each ``aegis`` of a text; nothing else may run."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    program = programs / "aegis"
    program.write_text(ECHO, encoding="utf-8")
    program.chmod(0o755)
    here = folder / "here"
    here.mkdir(exist_ok=True)
    done = subprocess.run(
        ["/bin/sh", "-c", text], cwd=here, env={"PATH": f"{programs}:/usr/bin:/bin"}, capture_output=True, timeout=60
    )
    assert list(here.iterdir()) == [], "a pasted command made a file"
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def commands_of(page: str) -> str:
    """The commands that a page shows."""
    blocks = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.S)
    return html.unescape("\n".join(block for block in blocks if block.startswith("aegis ")))


@pytest.mark.parametrize("name", HOSTILE)
def test_one_function_makes_one_word(name: str, tmp_path: Path) -> None:
    assert pasted(f"aegis release {word(name)} --out {word(name + '.csv')}", tmp_path) == [
        ["release", name, "--out", f"{name}.csv"]
    ]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("*", "~")] + ["-rf", ".hidden", "../up"])
def test_names_of_configurations_are_checked_on_the_way_in(name: str) -> None:
    with pytest.raises(InputError):
        checked_file_stem(name, what="the name", most=120)


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\u2028b"])
def test_names_are_one_line(name: str) -> None:
    with pytest.raises(InputError):
        checked_line(name, what="the name", most=120)


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_of_the_pages_is_safe_to_paste(battered_site: Any, name: str, tmp_path: Path) -> None:
    """Names that an older catalog let in are in the database already."""
    site = battered_site
    column = name.replace("\n", " ").replace("\t", " ").strip()
    provider = sessions.actor_of_session(site.catalog, secret=site.sessions["provider"]).actor
    admin = site.admin
    consumer = sessions.actor_of_session(site.catalog, secret=site.sessions["consumer"]).actor
    product = f"odd-{HOSTILE.index(name)}"
    with site.catalog.write(provider) as work:
        columns = [
            {"name": "age", "kind": "integer", "role": "quasi_identifying"},
            {"name": column, "kind": "text", "role": "insensitive"},
            {"name": "other", "kind": "text", "role": "insensitive"},
            {"name": "health", "kind": "text", "role": "label"},
        ]
        products.register(work, name=product, title="Odd", columns=columns, policy={"k": 2})
        products.publish(work, product=product)
        (made,) = configurations.propose(work, product=product, content={"masks": {"age": "suppress"}}, name="nice")
    with site.catalog.write(consumer) as work:
        asked = requests.ask(work, product=product, purpose="to try it", columns=["age", column])
    with site.catalog.write(admin) as work:
        requests.decide(work, request_id=asked.id, approve=True, configuration_id=made.id)
        work.session.execute(update(Configuration).where(Configuration.id == made.id).values(name=name))
    with httpx.Client(base_url=site.url, timeout=60) as client:
        client.cookies.set("aegis_session", site.sessions["provider"])
        request_page = client.get(f"/requests/{asked.id}").text
        summary_page = client.get(f"/products/{product}/summaries").text
    release, push = pasted(commands_of(request_page), tmp_path)
    assert release[:3] == ["release", "TABLE", "--config"]
    assert release[3] == f"{name}.yaml"
    assert release[release.index("--columns") + 1] == f"age,{column}"
    assert push[-1] == site.url
    assert [line[0] for line in pasted(commands_of(summary_page), tmp_path)] == ["summarize", "push"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_certificate_shows_a_command_that_is_safe_to_paste(battered_site: Any, name: str, tmp_path: Path) -> None:
    site = battered_site
    with site.catalog.read(site.admin) as work:
        row = work.session.get(Release, site.flow.release_id)
    assert row is not None
    content = json.loads(json.dumps(row.certificate))
    content["release"]["name"] = name
    assert pasted(certificate_parts(content)["check"], tmp_path) == [["verify", name, f"{name}.certificate.json"]]
