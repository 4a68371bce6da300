"""Opens a file in headless Chromium and reports what the browser saw: a small client of the DevTools protocol.

It speaks over `--remote-debugging-pipe`: the browser reads commands on its descriptor 3 and writes replies and
events on 4, each a JSON object ended by a zero byte. No port is opened, and nothing has to be polled for.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Any

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--remote-debugging-pipe"),
]
# Every name fails to resolve: a page under test that does ask for something is reported, and reaches nobody.
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND"
REPLY_WITHIN = 60  # seconds


@dataclass(frozen=True)
class Visit:
    """What a page did: URLs it requested, what went wrong on its console, its picture and its width in CSS pixels."""

    requests: list[str]
    console: list[str]
    screenshot_png: bytes
    scroll_width: int
    inner_text: str
    code_blocks_opened: int

    def foreign_requests(self, page: Path) -> list[str]:
        """Requests other than for the page itself; data: URLs are part of the page."""
        own = page.resolve().as_uri()
        return [url for url in self.requests if url != own and not url.startswith("data:")]


def open_page(path: Path, width: int, *, dark: bool = False) -> Visit:
    """Open a local file in a window `width` pixels wide, press its code toggle if it has one, and look at it."""
    with _browser() as browser:
        browser.attach()
        for domain in ("Network", "Log", "Runtime", "Page"):
            browser.call(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.call("Emulation.setEmulatedMedia", features=[scheme])
        browser.call("Page.navigate", url=path.resolve().as_uri())
        browser.wait_for("Page.loadEventFired")
        browser.settle()
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        text, scroll_width = browser.ask("[document.body.innerText, document.documentElement.scrollWidth]")
        opened = browser.ask(_PRESS_TOGGLE)
        browser.settle()
        scroll_width = max(scroll_width, browser.ask("document.documentElement.scrollWidth"))
        requests = [event["params"]["request"]["url"] for event in browser.events("Network.requestWillBeSent")]
        return Visit(requests, browser.complaints(), base64.b64decode(shot), scroll_width, text, opened)


def measure(path: Path, looks: list[tuple[int, str]], script: str) -> list[Any]:
    """What `script` answers in a window of each width, on the screen or as it is printed ("screen", "print")."""
    with _browser() as browser:
        browser.attach()
        for domain in ("Network", "Log", "Runtime", "Page"):
            browser.call(f"{domain}.enable")
        browser.call("Page.navigate", url=path.resolve().as_uri())
        browser.wait_for("Page.loadEventFired")
        return [_measured(browser, width, media, script) for width, media in looks]


def _measured(browser: _Browser, width: int, media: str, script: str) -> Any:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.call("Emulation.setEmulatedMedia", media=media)
    browser.settle()
    if media == "print":
        browser.ask("dispatchEvent(new Event('beforeprint'))")
    browser.settle()
    return browser.ask(script)


_PRESS_TOGGLE = """(() => {
  const toggle = document.querySelector("button.toggle");
  if (toggle && !toggle.hidden) toggle.click();
  return document.querySelectorAll("details.code[open]").length;
})()"""


class _Browser:
    def __init__(self, read_from: int, write_to: int) -> None:
        self._read_from, self._write_to = read_from, write_to
        self._buffer = b""
        self._sent = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write_to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._sent:
                assert "error" not in reply, f"{method}: {reply['error']}"
                result: dict[str, Any] = reply["result"]
                return result

    def ask(self, expression: str) -> Any:
        options = {"returnByValue": True, "awaitPromise": True}
        return self.call("Runtime.evaluate", expression=expression, **options)["result"].get("value")

    def wait_for(self, event: str) -> None:
        while not self.events(event):
            self._next()

    def settle(self) -> None:
        """Two frames later everything that the page started in its load handlers has been reported."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def events(self, method: str) -> list[dict[str, Any]]:
        return [event for event in self._events if event["method"] == method]

    def complaints(self) -> list[str]:
        thrown = [event["params"]["exceptionDetails"] for event in self.events("Runtime.exceptionThrown")]
        logged = [event["params"]["entry"] for event in self.events("Log.entryAdded")]
        called = [event["params"] for event in self.events("Runtime.consoleAPICalled")]
        return [
            *(f"{each['text']} {each.get('exception', {}).get('description', '')}" for each in thrown),
            *(each["text"] for each in logged if each["level"] in ("error", "warning")),
            *(str(each["args"]) for each in called if each["type"] in ("error", "warning", "assert")),
        ]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read_from], [], [], REPLY_WITHIN)
            assert ready, f"the browser said nothing for {REPLY_WITHIN} s"
            chunk = os.read(self._read_from, 1 << 20)
            assert chunk, "the browser ended"
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self._events.append(message)
        return message


def executable() -> str:
    names = (os.environ.get("CHROMIUM", "chromium"), "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found, "Chromium is missing: sudo apt-get install chromium, or set CHROMIUM to its path"
    return found


@contextmanager
def _browser() -> Iterator[_Browser]:
    to_read, browser_writes = os.pipe()
    browser_reads, to_write = os.pipe()

    with tempfile.TemporaryDirectory(prefix="benchbook-chromium-", ignore_cleanup_errors=True) as profile:
        command = [executable(), *FLAGS, NO_NETWORK, f"--user-data-dir={profile}"]
        # The shell puts the pipes where the browser expects them: Popen can only pass them on under their own numbers.
        placed = ["bash", "-c", f'exec "$@" 3<&{browser_reads} 4>&{browser_writes}', "bash", *command]
        process = subprocess.Popen(
            placed, pass_fds=(browser_reads, browser_writes), start_new_session=True, stderr=subprocess.DEVNULL
        )
        os.close(browser_reads)
        os.close(browser_writes)
        try:
            yield _Browser(to_read, to_write)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(to_read)
            os.close(to_write)
