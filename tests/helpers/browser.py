"""Debian's Chromium driven by Playwright, and what axe-core says of a page in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from chromium import executable
from playwright.sync_api import Browser, Page, sync_playwright

# Every name fails to resolve, and loopback is all there is.
FLAGS = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium; not longer than needed, for Playwright holds this thread's event loop."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield started
        finally:
            started.close()


def violations(page: Page) -> list[str]:
    """What axe-core objects to, a line per element: rule, element, why."""
    return [
        f"{found['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
    ]


def look(started: Browser, path: Path, width: int, *, dark: bool = False, script: bool = True) -> Page:
    """A local file in a window so many pixels wide."""
    page = started.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", java_script_enabled=script
    )
    page.goto(path.resolve().as_uri())
    return page
