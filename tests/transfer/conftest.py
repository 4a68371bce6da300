"""Real FerretDB servers on loopback addresses of their own, and the command as a process."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import bson
import psutil
import pytest

from benchbook import paths
from benchbook.build import programs as builds
from mongo_transfer import raw
from mongo_transfer.clients import Client, connect
from mongo_transfer.settings import MongoEndpoint

SECONDS = 60.0


def _free_net() -> tuple[str, socket.socket]:
    """The first three numbers of addresses that no other process has taken, and the socket that holds them."""
    for net in (f"127.1.{third}" for third in range(70, 90)):
        door = socket.socket()
        try:
            # A run that was killed left its servers; one that goes on holds the door.
            with socket.socket() as first:
                first.bind((f"{net}.11", 27017))
            door.bind((f"{net}.254", 27017))
        except OSError:
            door.close()
            continue
        return net, door
    raise RuntimeError("every network of the transfer's tests is in use: end the test runs that nobody needs")


# Servers of one worker, or of one test run, are not those of another. Held until this process ends.
NET, _DOOR = _free_net()
atexit.register(_DOOR.close)


class Reached(Protocol):
    """What a transfer can be sent to: a server, or a relay in front of one."""

    @property
    def endpoint(self) -> MongoEndpoint: ...


@dataclass
class Server:
    """One FerretDB server, which can be killed and started again on the same files."""

    program: Path
    host: str
    folder: Path
    process: subprocess.Popen[str] | None = field(default=None, init=False)

    @property
    def endpoint(self) -> MongoEndpoint:
        return MongoEndpoint(f"mongodb://{self.host}:27017/")

    def start(self) -> Server:
        # With this process, however it ends: pytest kills workers that are in the middle of a test.
        leashed = ["setpriv", "--pdeathsig", "KILL", "--"]
        command = [*leashed, str(self.program), "--listen", f"{self.host}:27017", "--dir", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("ready")
        return self

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self._gone()

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self._gone()

    def _gone(self) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        status = self.process.wait(SECONDS)
        self.process.stdout.close()
        return status

    def client(self) -> Client:
        return connect(self.endpoint)


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of ferret-server, mongodump and mongorestore; built if they are not."""
    return builds.build("mongo")


@pytest.fixture(scope="session")
def serve(programs: Path) -> Iterator[Callable[[str, Path], Server]]:
    """Starts servers; ends them all with the session."""
    started: list[Server] = []

    def start(host: str, folder: Path) -> Server:
        for left in started:
            # Of a test that failed, and runs again.
            if left.host == host and left.process is not None and left.process.returncode is None:
                left.kill()
        started.append(Server(programs / "ferret-server", host, folder).start())
        return started[-1]

    yield start
    for server in started:
        if server.process is not None and server.process.returncode is None:
            server.kill()


@pytest.fixture(scope="session")
def source(serve: Callable[[str, Path], Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    return serve(f"{NET}.11", tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def target(serve: Callable[[str, Path], Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    return serve(f"{NET}.12", tmp_path_factory.mktemp("target"))


@pytest.fixture
def database(request: pytest.FixtureRequest, source: Server, target: Server) -> Iterator[str]:
    """The name of a database that only this test uses, dropped on both servers afterwards."""
    name = request.node.name.replace("[", "_").replace("]", "")[:60]
    yield name
    for server in (source, target):
        with server.client() as client:
            client.drop_database(name)


def fill(client: Client, database: str, collection: str, documents: list[dict[str, Any]]) -> None:
    """Inserts documents by the thousand."""
    for start in range(0, len(documents), 1000):
        batch = b"".join(bson.encode(document) for document in documents[start : start + 1000])
        reply = client[database].command({"insert": collection, "documents": raw.documents_field(batch)})
        assert "writeErrors" not in reply


def numbered(count: int) -> list[dict[str, Any]]:
    """Documents with ObjectIds that rise, 100 bytes and more each."""
    return [{"_id": bson.ObjectId(f"{n:024x}"), "n": n, "text": f"{n:0100d}"} for n in range(count)]


@dataclass
class Command:
    """The transfer as a process of its own."""

    process: subprocess.Popen[str]

    def workers(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children(recursive=True)
        # Beside them Python's own tracker of shared resources.
        return [child for child in children if "--multiprocessing-fork" in child.cmdline()]

    def end(self) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        out, err = self.process.communicate(timeout=SECONDS * 2)
        return self.process.returncode, out, err

    def kill(self) -> None:
        """kill -9 of the main process, then waits until its workers have noticed."""
        workers = self.workers()
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=SECONDS)
        _, alive = psutil.wait_procs(workers, SECONDS)
        assert not alive


@pytest.fixture
def run(source: Server, target: Server) -> Iterator[Callable[..., Command]]:
    """Starts `python -m mongo_transfer` between two servers (the shared ones if none are named)."""
    started: list[Command] = []

    def start(*options: str, between: tuple[Reached, Reached] = (source, target), **environment: str) -> Command:
        urls = ["--source-url", between[0].endpoint.url, "--target-url", between[1].endpoint.url]
        command = [sys.executable, "-m", "mongo_transfer", *urls, *options]
        env = {**os.environ, "PYTHONPATH": str(paths.home() / "lib"), **environment}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(Command(subprocess.Popen(command, text=True, env=env, **pipes)))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()
