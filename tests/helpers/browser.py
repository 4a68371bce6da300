"""Debian's Chromium driven by Playwright: what a page does in it, and what axe-core says of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from kit import PATIENCE_S
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

# Every name fails to resolve, and loopback is all there is: what a page does ask for is seen, and reaches nobody.
FLAGS = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]

# Two frames later everything that a page started in its load handlers has been reported.
SETTLE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"

PRESS_TOGGLE = """(() => {
  const toggle = document.querySelector("button.toggle");
  if (toggle && !toggle.hidden) toggle.click();
  return document.querySelectorAll("details.code[open]").length;
})()"""


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium; not longer than needed, for Playwright holds this thread's event loop."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(), args=FLAGS, timeout=PATIENCE_S * 1000)
        try:
            yield started
        finally:
            started.close()


def executable() -> str:
    names = (os.environ.get("CHROMIUM", "chromium"), "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found, "Chromium is missing: sudo apt-get install chromium, or set CHROMIUM to its path"
    return found


def violations(page: Page) -> list[str]:
    """What axe-core objects to, a line per element: rule, element, why."""
    return [
        f"{found['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
    ]


def look(started: Browser, path: Path, width: int, *, dark: bool = False, script: bool = True) -> Page:
    """A local file in a window so many pixels wide."""
    page = _window(started, width, dark=dark, script=script)
    page.goto(path.resolve().as_uri())
    return page


def _window(started: Browser, width: int, *, dark: bool = False, script: bool = True) -> Page:
    scheme = "dark" if dark else "light"
    return started.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script)


@dataclass
class Visit:
    """What a page did: URLs it requested, what went wrong on its console, its picture and its width in CSS pixels."""

    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    screenshot_png: bytes = b""
    scroll_width: int = 0
    inner_text: str = ""
    code_blocks_opened: int = 0

    def foreign_requests(self, page: Path) -> list[str]:
        """Requests other than for the page itself; data: URLs are part of the page."""
        own = page.resolve().as_uri()
        return [url for url in self.requests if url != own and not url.startswith("data:")]

    def asked_for(self, request: Request) -> None:
        self.requests.append(request.url)

    def said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.console.append(message.text)


def open_page(path: Path, width: int, *, dark: bool = False) -> Visit:
    """Open a local file in a window `width` pixels wide, press its code toggle if it has one, and look at it."""
    visit = Visit()
    with browser() as started:
        page = _window(started, width, dark=dark)
        page.on("request", visit.asked_for)
        page.on("console", visit.said)
        page.on("pageerror", lambda error: visit.console.append(str(error)))
        page.goto(path.resolve().as_uri())
        page.evaluate(SETTLE)
        visit.screenshot_png = page.screenshot(full_page=True)
        visit.inner_text = page.inner_text("body")
        visit.scroll_width = page.evaluate("document.documentElement.scrollWidth")
        visit.code_blocks_opened = page.evaluate(PRESS_TOGGLE)
        page.evaluate(SETTLE)
        visit.scroll_width = max(visit.scroll_width, page.evaluate("document.documentElement.scrollWidth"))
    return visit


def measure(path: Path, looks: list[tuple[int, str]], script: str) -> list[Any]:
    """What `script` answers in a window of each width, on the screen or as it is printed ("screen", "print")."""
    with browser() as started:
        page = look(started, path, looks[0][0])
        return [_measured(page, width, media, script) for width, media in looks]


def _measured(page: Page, width: int, media: Any, script: str) -> Any:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media=media)
    page.evaluate(SETTLE)
    if media == "print":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.evaluate(SETTLE)
    return page.evaluate(script)
