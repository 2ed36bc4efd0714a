"""The pictures of the gallery: reports of the made-up clinic, opened in Chromium and kept as small images.

``python docs/pictures.py`` makes them anew after the look of a report changed. Nothing in them is about anybody: every
table is made up by ``aegis demo``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parent / "_static" / "gallery"
CHROMIUM = "/usr/bin/chromium"
WIDE, HIGH = 900, 640


def main() -> None:
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        reports = made(folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, color_scheme="light")
        for picture, report in reports.items():
            page.goto(report.as_uri())
            page.screenshot(path=PICTURES / f"{picture}.png")
        hierarchies_page(folder, page)
        browser.close()


def made(folder: Path) -> dict[str, Path]:
    """The reports, by the name of their picture."""
    aegis("demo", "--out", folder / "demo")
    data, project = folder / "demo" / "clinic.csv", folder / "demo" / "aegis.yaml"
    quick = ("--candidates", "masks,search,boxes", "--generate", "12", "--seconds", "20")
    aegis("start", data, "-y", *quick, "--project", project)
    released = folder / "demo" / "clinic.released.csv"
    about = ("--original", data, "--roles", project, "--policy", project)
    aegis("attack", released, *about, "--report", folder / "attacks.html")
    return {
        "start": folder / "demo" / "clinic.report.html",
        "certificate": released.with_name(f"{released.name}.certificate.html"),
        "ranking": folder / "demo" / "ranking.html",
        "attacks": folder / "attacks.html",
    }


def hierarchies_page(folder: Path, page: Any) -> None:
    """The page on which hierarchies are changed."""
    from aegis.commands.start import Start
    from aegis.library.guided.web import Site
    from aegis.library.guided.web_session import Session

    data = folder / "demo" / "clinic.csv"
    session = Session(Start(str(data), web=True, project=folder / "page.yaml"))
    session.take("look", {"label": ["health"]})
    session.take("roles", {})
    session.take("policy", {"purpose": ["partner"]})
    site = Site(session)
    thread = threading.Thread(target=site.run, daemon=True)
    thread.start()
    page.goto(f"{site.address}hierarchies")
    page.screenshot(path=PICTURES / "hierarchies.png")
    site.stop()
    thread.join(60)


def aegis(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "aegis", *map(str, words)], check=True)  # noqa: S603  our own words


if __name__ == "__main__":
    main()
