"""Fixtures of all tests: a project folder of their own, a lab on addresses of its own, and no connection elsewhere."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import distribution
from pathlib import Path

import pytest

# What the tests share asserts as well, and is to say what it found.
shared = (
    "database",
    "driver",
    "faulty",
    "in_memory",
    "kit",
    "packages",
    "records",
    "rendered",
    "schema_check",
    "scraped",
    "sshd",
)
pytest.register_assert_rewrite(*shared)

import database as databases
from kit import INVENTORY, LAB_SSH, ROOT, TESTS, Home, end_runs

from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session

# A shell that starts us in the background has Ctrl-C ignored, and every program we start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Images for containers often ask Python to keep no bytecode: each of the many processes that the tests start would
# compile the kit, and what tests install, for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


# Long files of servers whose names come late: in their turn they would begin when others have little left to do.
FIRST = ("workloads/test_gotpc_real.py", "reports/test_dm_faults.py", "systems/test_tidb_cluster_real.py")
_FIRST = {(TESTS / name).resolve(strict=True) for name in FIRST}


def pytest_configure() -> None:
    """The kit finds its own parts by entry points, as they were when it was installed."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    installed = distribution("benchbook").entry_points
    for group, parts in wanted.items():
        if {point.name: point.value for point in installed.select(group=group)} != parts:
            pytest.exit(
                f"{group} of pyproject.toml has changed since the kit was installed here: run `env/setup python`"
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, servers' among them: quick ones fill what is left of the workers' time."""
    slow = [item for item in items if item.get_closest_marker("real") or item.get_closest_marker("slow")]
    files = {item.path for item in slow}
    items.sort(key=lambda item: (item.path not in _FIRST, item.path not in files))
    for item in slow:
        # Real servers, browsers and kernels of several workers share two cores: one may starve another's. As with a
        # disturbed trial, such a test runs once more, and the summary shows its first failure (RERUN): nothing is
        # passed over in silence, and after a handful of them (pyproject.toml) a failure is a failure. What is not
        # marked starves nobody, in the same file neither: it fails at once.
        item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def _no_connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit test that connects anywhere fails; a test marked `real` may reach loopback, and nothing else."""
    real = request.node.get_closest_marker("real") is not None
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        inet = self.family in (socket.AF_INET, socket.AF_INET6)
        host = str(address[0]) if isinstance(address, tuple) else ""
        if inet and not (real and host.startswith("127.")):
            pytest.fail(f"this test connects to {address}; {'only loopback is allowed' if real else 'mark it `real`'}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _no_run_goes_on() -> Iterator[None]:
    yield
    end_runs()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty project folder, in force for this process; no lab runs."""
    made = Home.make(tmp_path / "home")
    monkeypatch.setenv("BENCHBOOK_HOME", str(made.path))
    return made


@pytest.fixture
def runs(home: Home) -> Path:
    """The folder of campaigns, with a recorded one of every report."""
    return home.with_replays()


@pytest.fixture(scope="session")
def net() -> Iterator[str]:
    """The first three numbers of loopback addresses that no other test run on this machine uses."""
    # Tests that begin no lab write addresses of 127.0.90: of a lab there, a check would say that it is reserved.
    nets = [f"127.{second}.{third}" for second in (0, 1) for third in range(91, 100)]
    with socket.socket() as door:
        for found in nets:
            try:
                # A run that was killed left its first host; one that goes on holds the door.
                with socket.socket() as first:
                    first.bind((f"{found}.1", 2222))
                door.bind((f"{found}.254", 2222))
            except OSError:
                continue
            yield found
            return
    pytest.fail(f"every test network {nets[0]} to {nets[-1]} is in use: stop the other test runs")


@pytest.fixture(scope="session")
def _lab_home(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[Home]:
    made = Home.make(tmp_path_factory.mktemp("lab") / "home", net)
    with made.in_force():
        inventory = load_inventory(INVENTORY)
        labs.up(inventory, by_hand=True)
    # Between the two, tests that do not ask for this home must see the project's own.
    yield made
    with made.in_force():
        labs.down(inventory)
    for process in made.processes():
        process.kill()


@pytest.fixture
def lab_home(_lab_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The project folder whose lab runs for the whole session, in force for this process."""
    monkeypatch.setenv("BENCHBOOK_HOME", str(_lab_home.path))
    return _lab_home


@pytest.fixture
def lab(lab_home: Home) -> Inventory:
    """The inventory of the running lab."""
    return load_inventory(INVENTORY)


@pytest.fixture
def start_lab(lab_home: Home) -> Iterator[Callable[..., Inventory]]:
    """Start another lab with these hosts, and what else is to stand in its inventory; the test's end stops it."""
    with ExitStack() as started:

        def start(name: str, hosts: dict[str, object], **more: object) -> Inventory:
            lab_home.write(f"env/hosts/{name}.yaml", {"lab": True, "ssh": LAB_SSH, "hosts": hosts, **more})
            inventory = load_inventory(name)
            labs.up(inventory, by_hand=True)
            started.callback(labs.down, inventory)
            return inventory

        yield start


@pytest.fixture
def session(lab: Inventory) -> Iterator[Session]:
    """A session with both hosts of the running lab."""
    with Session(lab, lab.hosts) as opened:
        yield opened


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[databases.Database]:
    """A MariaDB that the kit did not start and that is no host of its lab."""
    with databases.running(tmp_path_factory.mktemp("endpoint"), f"{net}.30") as server:
        yield server
