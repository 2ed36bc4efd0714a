"""The pictures of the gallery: reports opened in Chromium and kept as small images.

``python docs/pictures.py start=german.report.html ranking=demo/ranking.html`` makes those that are named anew, after
the look of a report changed. A report names columns and masks, and no value that fewer than five records have.
"""

from __future__ import annotations

import sys
from pathlib import Path

PICTURES = Path(__file__).parent / "_static" / "gallery"
CHROMIUM = "/usr/bin/chromium"
WIDE, HIGH = 900, 640


def main(wanted: dict[str, Path]) -> None:
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, color_scheme="light")
        for name, report in wanted.items():
            page.goto(report.resolve().as_uri())
            page.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main({name: Path(path) for name, _, path in (word.partition("=") for word in sys.argv[1:])})
