"""A project folder of a test's own, and what tests do with it: run the kit as a user does, look for what is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from fault_campaign import home as round_home
from forked import forked

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
FIXTURES = TESTS / "fixtures"
REPORT = "tidb_v7_1_3_sysbench"
INVENTORY = "lab_test"
# What a condition may take at most before a test calls it broken; nothing is asserted about how long it takes.
PATIENCE_S = 120
# Transactions/s that are offered where a test asks what becomes of a load, and not how fast it can go: a load that goes
# as fast as it can takes both cores from the tests of the other workers for as long as it lasts.
OFFERED = 100

PROFILE: dict[str, Any] = {
    # The suite's other worker takes CPU all the time: to try again would find no quieter machine.
    "description": "as small as a campaign can be", "repetitions": 2, "tries": 1, "reset": "restart", "disk_gb": 0.5,
    "buffer_pool_mb": 32, "sysbench": {"tables": 4, "table_size": 2000, "time_s": 2, "prepare_threads": 2},
}  # fmt: skip


# Probes that a profile may name: one of machines, and one of servers.
OWN_PROBES = {
    "mine": 'METRICS = {"n": ("level", "1")}\n\n\ndef sample():\n    return {"n": 1}\n',
    "doors": 'METRICS = {"port": ("level", "1")}\n\n\ndef sample(port):\n    return {"port": port}\n',
}


def until(condition: Callable[[], Any], what: str, *, within_s: float = PATIENCE_S) -> Any:
    """The first true answer of `condition`, which is asked 30 times a second at first, and 10 times after a while.

    What it looks at takes CPU from what it waits for: to look at every process once takes 5 ms and more.
    """
    began = now = time.monotonic()
    while now < began + within_s:
        answer = condition()
        if answer:
            return answer
        time.sleep(min(0.1, 0.03 + (now - began) / 50))
        now = time.monotonic()
    raise AssertionError(f"not within {within_s:g} s: {what}")


LAB_SSH = {"port": 2222, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts", "lease_s": 10}


def inventory(net: str, **changes: Any) -> dict[str, Any]:
    """A lab like env/hosts/lab_tidb.yaml with one TiDB host, on addresses `net`.x."""
    return {
        "lab": True, "description": "lab of a test",
        "ssh": LAB_SSH,
        "hosts": {
            "executor": {"address": f"{net}.1", "roles": ["client"]},
            "db1": {"address": f"{net}.11", "roles": ["tidb", "mysql"]},
        },
        "systems": {
            "tidb": {"port": 4000, "status_port": 10080, "password_file": ".lab/secrets/database"},
            "mariadb": {"port": 3306, "password_file": ".lab/secrets/database"},
        },
        **changes,
    }  # fmt: skip


def paragraph(said: str) -> str:
    """An error as its one paragraph: a terminal shows the file, the cause and the fix on lines of their own."""
    return said.replace("\n  Fix: ", " Fix: ").replace("\n  ", ": ")


# A locale whose encoding has no letter beyond ASCII, on any machine; Latin-1 (`LANG=en_US`) lacks dashes and quotes.
ASCII_ONLY = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}

_started: list[subprocess.Popen[str]] = []


def end_runs() -> None:
    """Those that a test has started and that still go on, for it has failed: it is run again, and would meet them."""
    while _started:
        run = _started.pop()
        if run.poll() is None:
            for process in (*psutil.Process(run.pid).children(recursive=True), run):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            run.wait()


@dataclass(frozen=True)
class Home:
    """A project folder: env/, data/published and notebooks/ copied, the systems' sources linked, nothing else."""

    path: Path

    @classmethod
    def make(cls, path: Path, net: str = "127.0.89") -> Home:
        (path / "env" / "hosts").mkdir(parents=True)
        shutil.copytree(ROOT / "env" / "profiles", path / "env" / "profiles")
        (path / "env" / "systems").symlink_to(ROOT / "env" / "systems")
        shutil.copytree(ROOT / "data" / "published", path / "data" / "published")
        ignore = shutil.ignore_patterns(".ipynb_checkpoints")
        shutil.copytree(ROOT / "notebooks", path / "notebooks", ignore=ignore)
        home = cls(path)
        home.write(f"env/hosts/{INVENTORY}.yaml", inventory(net))
        home.write("env/profiles/tiny.yaml", PROFILE)
        return home

    def write(self, name: str, content: dict[str, Any] | str) -> Path:
        """Write a file of this folder: a mapping as YAML, a text as it is."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        if "secrets" in path.parts:
            path.chmod(0o600)
        return path

    def with_replays(self) -> Path:
        """The folder of campaigns, with a real one of every report, cut to a few trials."""
        return Path(shutil.copytree(FIXTURES / "replays", self.path / "data" / "runs"))

    def without_figures(self) -> Home:
        """For who looks at what is measured and recorded: the sysbench report's notebook draws nothing."""
        notebook = self.path / "notebooks" / f"{REPORT}.ipynb"
        notebook.write_text(round_home.without_figures(notebook.read_text()))
        return self

    @contextmanager
    def in_force(self) -> Iterator[Home]:
        """This process works in this folder as long as the block runs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BENCHBOOK_HOME", str(self.path))
            yield self

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "BENCHBOOK_HOME": str(self.path), "PYTHONPATH": str(ROOT / "lib"), "COLUMNS": "400"}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`python -m benchbook ARGUMENTS`, both outputs in one pipe; it ends with the test at the latest."""
        run = subprocess.Popen(
            [sys.executable, "-m", "benchbook", *arguments], env={**self.environment, **environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.path, start_new_session=True,
        )  # fmt: skip
        _started.append(run)
        return run

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """The same, to its end: (exit status, what it said)."""
        process = self.start(*arguments, **environment)
        said, _ = process.communicate(timeout=PATIENCE_S * 3)
        return process.returncode, said

    def told(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """The same of a command that says something and ends, in a process that need not import the kit."""
        return forked(arguments, {**self.environment, **environment}, self.path, within_s=PATIENCE_S * 3)

    def report(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """`benchbook report` of the sysbench report with the tiny profile on the test's lab."""
        return self.run(*self.report_words(*arguments), **environment)

    @staticmethod
    def report_words(*arguments: str) -> list[str]:
        where = [] if "--inventory" in arguments else ["--inventory", INVENTORY]
        size = [] if "--profile" in arguments else ["--profile", "tiny"]
        return ["report", REPORT, *size, *where, *arguments]

    def campaigns(self) -> list[Path]:
        return sorted(path.parent for path in (self.path / "data" / "runs" / REPORT).glob("*/plan.json"))

    def record_files(self) -> dict[str, Path]:
        """record.json of every whole record, by trial."""
        files = [file for folder in self.campaigns() for file in folder.glob("trials/*/record.json")]
        return {file.parent.name: file for file in files if not file.parent.name.endswith(".partial")}

    def processes(self, *words: str) -> list[psutil.Process]:
        """Processes whose command line holds all of `words` and names this folder's lab, or what TiUP deployed in it.

        sshd itself is not one.
        """
        folders = (str(self.path / ".lab"), str(self.path / "deploy"))

        def is_one(line: str) -> bool:
            return "sshd" not in line and any(each in line for each in folders) and all(word in line for word in words)

        return processes_of(is_one)


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty where it has ended since it was found."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def processes_of(is_one: Callable[[str], bool]) -> list[psutil.Process]:
    """Those with such a command line."""
    found = []
    for pid in [pid for pid, line in command_lines() if is_one(line)]:
        with suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    return found


def command_lines() -> Iterator[tuple[int, str]]:
    """Number and command line of every process that runs; of one that has ended and waits to be collected it is empty.

    Read here, for tests ask many times a second: psutil opens four files of each process, a Path takes twice as long.
    """
    for pid in psutil.pids():
        with suppress(FileNotFoundError, ProcessLookupError), FileIO(f"/proc/{pid}/cmdline") as line:
            yield pid, os.fsdecode(line.readall().rstrip(b"\0").replace(b"\0", b" "))
