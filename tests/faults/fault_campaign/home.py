"""A round's own project folder: a report of four small trials, a lab on addresses of its own, and the real command."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

import benchbook
from benchbook import paths
from benchbook.errors import BenchbookError
from benchbook.hosts.lab_host import LabHost

REPORT = "tidb_v7_1_3_sysbench"
INVENTORY, ELSEWHERE, PROFILE = "faults", "elsewhere", "tiny"
CLIENT, SERVER = "executor", "db1"
# Short, so that a round is: the leases of real runs are longer, and nothing else about them is different.
LEASE_S = 6.0
TIME_S = 3
PORT = 2222
_PROFILE = {
    "description": "as small as a campaign can be",
    "repetitions": 2,
    # The round beside it takes CPU: to try again would find no quieter machine.
    "tries": 1,
    "reset": "restore",
    "disk_gb": 0.05,
    "buffer_pool_mb": 32,
    "sysbench": {"tables": 2, "table_size": 4000, "time_s": TIME_S, "prepare_threads": 2},
}
# Two cells, one that reads and one that writes; an offered rate leaves the machine to the round beside it.
ASKED = ["system=mariadb", "workloads=[oltp_point_select, oltp_update_index]", "threads=[2]", "rate=100"]
# The cells of the notebook that a campaign needs; the others draw figures.
_CELLS = ("import", "open_report(", ".run()", ".checks()", ".finish()")
# 127.0.x.y is for the kit's labs and its tests.
_NETS = range(1, 255)


@dataclass(frozen=True)
class RoundHome:
    """`path` is the round's folder; below it the project folder, the second driver's, and what runs write elsewhere."""

    path: Path
    net: str

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def second(self) -> Path:
        return self.path / "second"

    @property
    def lab(self) -> Path:
        return self.home / ".lab"

    def host(self, name: str) -> Path:
        """The state of a lab host: its sshd's configuration, key and pid."""
        return self.lab / INVENTORY / name

    def work(self, name: str) -> Path:
        """The kit's folder on a host."""
        return self.host(name) / "work"

    @property
    def runs(self) -> Path:
        return self.home / "data" / "runs"

    def secrets(self) -> list[str]:
        """The database's password, and a line of the client's private key."""
        password, key = self.lab / "secrets" / "database", self.lab / "keys" / "client"
        return [password.read_text().strip(), key.read_text().splitlines()[2]] if key.exists() else []

    # -- the real command -----------------------------------------------------------------------------------------

    def start(self, home: Path, output: Path, *words: str, way: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """`python -m benchbook WORDS` in a project folder, its output in one file; `way` leads to its network."""
        with output.open("wb") as out:
            return subprocess.Popen(
                [*way, sys.executable, "-m", "benchbook", *words],
                env=self._environment(home),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=home,
                start_new_session=True,
            )

    def report(self, output: Path) -> subprocess.Popen[bytes]:
        return self.start(self.home, output, *_words(INVENTORY))

    def second_report(self, output: Path) -> subprocess.Popen[bytes]:
        """The same report from another checkout, whose inventory has the same hosts under another name.

        To it they are real hosts, which it reaches: it runs in the lab's network.
        """
        self._second_folder()
        way = LabHost(SERVER, f"{self.net}.11", PORT, self.host(SERVER)).enter()
        return self.start(self.second, output, *_words(ELSEWHERE), way=way)

    def _environment(self, home: Path) -> dict[str, str]:
        """What a run keeps outside of its project folder, it keeps in the round's."""
        library = str(Path(benchbook.__file__).parents[1])
        return {
            **os.environ,
            "BENCHBOOK_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")])),
            "TMPDIR": str(self.path / "tmp"),
            "COLUMNS": "400",
        }

    # -- its files ------------------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """Make the folders and files; nothing is started."""
        (self.path / "tmp").mkdir(parents=True)
        _project(self.home)
        lab = {"port": PORT, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts", "lease_s": LEASE_S}
        _write(self.home / "env" / "hosts" / f"{INVENTORY}.yaml", self._inventory(lab, lab=True))

    def _second_folder(self) -> None:
        _project(self.second)
        keys = {"key": str(self.lab / "keys" / "client"), "known_hosts": str(self.lab / "known_hosts")}
        inventory = self._inventory({"port": PORT, **keys, "lease_s": LEASE_S}, lab=False)
        _write(self.second / "env" / "hosts" / f"{ELSEWHERE}.yaml", inventory)

    def _inventory(self, ssh: dict[str, object], *, lab: bool) -> dict[str, object]:
        # A real host's folder is below the login's home; the second driver finds the first one's there.
        work = {name: {} if lab else {"workdir": str(self.work(name))} for name in (CLIENT, SERVER)}
        password = str(self.lab / "secrets" / "database")
        return {
            "lab": lab,
            "description": "hosts of a round of faults",
            "ssh": ssh,
            "hosts": {
                CLIENT: {"address": f"{self.net}.1", "roles": ["client"], **work[CLIENT]},
                SERVER: {"address": f"{self.net}.11", "roles": ["mysql", "tidb"], **work[SERVER]},
            },
            "systems": {"mariadb": {"port": 3306, "password_file": password}},
        }


def _words(inventory: str) -> list[str]:
    asked = [word for pair in ASKED for word in ("-p", pair)]
    return ["report", REPORT, "--profile", PROFILE, "--inventory", inventory, *asked]


def _project(home: Path) -> None:
    """A project folder with one report, and its notebook without figures."""
    (home / "env").mkdir(parents=True)
    (home / "env" / "systems").symlink_to(paths.env_dir() / "systems")
    shutil.copytree(paths.published_dir(REPORT), home / "data" / "published" / REPORT)
    _write(home / "env" / "profiles" / f"{PROFILE}.yaml", _PROFILE)
    target = home / "notebooks" / f"{REPORT}.ipynb"
    target.parent.mkdir()
    target.write_text(without_figures(paths.notebook(REPORT).read_text()))


def without_figures(text: str) -> str:
    """A report's notebook with the cells that a campaign needs: what is drawn takes longer than four loads do."""
    notebook = json.loads(text)
    return json.dumps({**notebook, "cells": [cell for cell in notebook["cells"] if _needed(cell)]})


def _needed(cell: dict[str, object]) -> bool:
    source, metadata = cell["source"], cell["metadata"]
    text = "".join(source) if isinstance(source, list) else str(source)
    tagged = isinstance(metadata, dict) and "parameters" in metadata.get("tags", [])
    return cell["cell_type"] == "code" and (tagged or any(word in text for word in _CELLS))


def _write(path: Path, content: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


@contextmanager
def free_net() -> Iterator[str]:
    """The first three numbers of loopback addresses that nothing else uses; held as long as the block runs."""
    for second in _NETS[1:]:
        for third in _NETS:
            net = f"127.{second}.{third}"
            with socket.socket() as door:
                if _taken(f"{net}.1") or _taken(f"{net}.11"):
                    continue
                try:
                    door.bind((f"{net}.254", PORT))
                except OSError:
                    continue
                yield net
                return
    raise BenchbookError("no loopback network is free for a lab. Fix: stop labs that nobody needs")


def _taken(address: str) -> bool:
    with socket.socket() as door:
        try:
            door.bind((address, PORT))
        except OSError:
            return True
    return False
