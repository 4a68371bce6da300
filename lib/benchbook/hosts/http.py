"""Small HTTP requests from a host, through its SSH connection: the driver itself needs nothing but SSH."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from benchbook.errors import ConnectionLost, SystemFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import COMMAND_S

# What a server that is not there, or not yet, makes of a request; the way there raises the third.
UNANSWERED = (OSError, EOFError, ConnectionLost, http.client.HTTPException)


@dataclass(frozen=True)
class Answer:
    """Status and body of a response."""

    status: int
    body: str

    def json(self) -> Any:
        """Raise SystemFailed for a body that is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError as problem:
            raise SystemFailed(f"not JSON: {self.body[:200]!r}") from problem


@dataclass(frozen=True)
class HttpServer:
    """An HTTP server as seen from host `via`."""

    via: Host
    address: str
    port: int

    def __str__(self) -> str:
        return f"http://{at(self.address, self.port)}"

    def ask(self, path: str, *, method: str = "GET", timeout: float = COMMAND_S, body: str | None = None) -> Answer:
        """Send one request, with a `body` if it has one, on a connection of its own. Raise what UNANSWERED lists."""
        headers = {"Host": at(self.address, self.port), "Connection": "close"}
        with (
            self.via.connected(self.address, self.port) as sock,
            closing(http.client.HTTPConnection(self.address, self.port)) as link,
        ):
            sock.settimeout(timeout)
            link.sock = sock
            link.request(method, path, body=body, headers=headers)
            response = link.getresponse()
            return Answer(response.status, response.read().decode(errors="replace"))

    def knock(self, path: str) -> str | None:
        """Return None when it answers 200, else why it does not (yet)."""
        try:
            answer = self.ask(path, timeout=5)
        except UNANSWERED as problem:
            return f"{self}{path}: no answer: {problem!r}"
        return None if answer.status == HTTPStatus.OK else f"{self}{path}: {answer.status} {answer.body.strip()[:200]}"

    def get(self, path: str, *, method: str = "GET", timeout: float = COMMAND_S, body: str | None = None) -> Answer:
        """Like `ask`, for a server that is meant to be there. Raise SystemFailed unless it answers 200."""
        try:
            answer = self.ask(path, method=method, timeout=timeout, body=body)
        except UNANSWERED as problem:
            raise SystemFailed(f"{self}{path} from {self.via.name}: no answer: {problem!r}") from problem
        if answer.status != HTTPStatus.OK:
            raise SystemFailed(f"{self}{path} answers {answer.status}: {answer.body.strip()[:500]}")
        return answer
