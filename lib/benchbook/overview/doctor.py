"""`benchbook doctor`: what is missing on this machine, and what it has; on the hosts of an inventory, too."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
from rich.console import Console

from benchbook import paths, temporary
from benchbook.build import artefacts
from benchbook.errors import BadInput, BenchbookError
from benchbook.hosts import lab, reservation
from benchbook.hosts.fanout import FanOutFailed
from benchbook.hosts.host_facts import check_addresses, preflight
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.remote import machine
from benchbook.hosts.session import Session
from benchbook.overview.lists import print_table
from benchbook.user_input import user_file

# Servers stand in folders that a user's PATH often lacks; the same list as in env/setup.
_MORE_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin"
_NEEDED_FOR = {"report": "", "test": " (for tests only)", "wanted": " (a run can do without)"}
# A smoke run of all reports, with what is built for it.
_DISK_GB, _MEMORY_GB = 10.0, 4.0
_VERSIONS = ("benchbook", "fabric", "papermill", "jupyterlab", "pandas", "scipy", "typer")


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked at; `fix` is empty where it is well. `needed`: nothing runs without it."""

    what: str
    found: str
    fix: str = ""
    needed: bool = True

    @property
    def state(self) -> str:
        return "missing" if self.fix and self.needed else "warning" if self.fix else "ok"


def examine() -> list[DoctorCheck]:
    """Everything that was looked at, in the order of the terminal."""
    return [*_programs(), *_disks(), _memory(), _cores(), *_settings(), *_built(), *_packages()]


def print_all(inventory: str, console: Console, *, as_json: bool = False) -> int:
    """Print what was found here, and on the hosts of an inventory; 1 where something that every run needs is missing.

    Raise BadInput where there is no such inventory.
    """
    found = [*examine(), *(_hosts(load_inventory(inventory)) if inventory else ())]
    missing = [symptom for symptom in found if symptom.fix and symptom.needed]
    if as_json:
        console.print(json.dumps([{"state": s.state, **asdict(s)} for s in found], indent=1), markup=False)
        return 1 if missing else 0
    print_table(console, ("", "what", "found", "fix"), [(s.state, s.what, s.found, s.fix) for s in found])
    console.print(
        f"missing: {', '.join(s.what for s in missing)}" if missing else "nothing that a run needs is missing"
    )
    return 1 if missing else 0


def _programs() -> Iterator[DoctorCheck]:
    """Look for the programs of the table that env/setup reads: purpose, program, Debian package, conda package."""
    search = ":".join([os.environ.get("PATH", ""), _MORE_PATH, *map(str, Path("/usr/lib/postgresql").glob("*/bin"))])
    lines = user_file.text(paths.find("env", "debian-packages.txt")).splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    # A program that serves several purposes is told once, by the first of them.
    programs = {row[1]: row for row in reversed([*rows, ["report", "go", "golang-go", "go"]])}
    for purpose, program, debian, _ in reversed(programs.values()):
        where = _where(program, search)
        needed = _NEEDED_FOR.get(purpose, f" (for {purpose.rstrip('*')})")
        fix = "" if where else f"apt-get install {debian}{needed}"
        yield DoctorCheck(program, where or "not found", fix, needed=purpose == "report")


def _where(program: str, search: str) -> str:
    kind, _, name = program.partition(":")
    if kind == "include":
        compiler = shutil.which("g++", path=search)
        asked = [compiler or "false", "-E", "-x", "c++", "-"]
        found = subprocess.run(asked, input=f"#include <{name}>", capture_output=True, text=True, check=False)
        return "found by g++" if found.returncode == 0 else ""
    if not name:
        return shutil.which(kind, path=search) or ""
    return "importable" if importlib.util.find_spec(name) else ""


def _disks() -> Iterator[DoctorCheck]:
    for what, folder in (("disk of data/runs", paths.runs_dir("x").parent), ("disk of the cache", paths.cache_dir())):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free / 1e9
        fix = "" if free >= _DISK_GB else f"free some: a smoke run of all reports takes up to {_DISK_GB:g} GB"
        writable = "" if os.access(there, os.W_OK) else f"make {there} writable"
        yield DoctorCheck(what, f"{free:.0f} GB free at {folder}", writable or fix, needed=bool(writable))


def _memory() -> DoctorCheck:
    free = psutil.virtual_memory().available / 1e9
    fix = "" if free >= _MEMORY_GB else f"have at least {_MEMORY_GB:g} GB: servers and their load run at the same time"
    return DoctorCheck("memory", f"{free:.1f} GB available", fix, needed=False)


def _cores() -> DoctorCheck:
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    fix = "something runs here already, and would be measured too" if load > cores / 2 else ""
    return DoctorCheck("cores", f"{cores}, load {load:.1f}", fix, needed=False)


def _settings() -> Iterator[DoctorCheck]:
    """Yield what a lab's run that was killed has left set; only root is told."""
    for file, now, before in machine.left("/") if os.geteuid() == 0 else []:
        found = f"{now}, left by a run that was killed; it was {before}"
        yield DoctorCheck(file, found, f"echo {before} > {file}", needed=False)
    for file, holder in reservation.left_reservations():
        yield DoctorCheck("reservation", f"{file}, of {holder}, which is gone", f"rm {file}", needed=False)
    for folder in temporary.left_by_killed_runs():
        fix = f"rm -r {folder} (the next run does)"
        yield DoctorCheck("temporary folder", f"{folder}, left by a run that was killed", fix, needed=False)


def _built() -> Iterator[DoctorCheck]:
    for name in artefacts.names():
        yield DoctorCheck(f"system {name}", artefacts.state(name))


def _hosts(inventory: Inventory) -> Iterator[DoctorCheck]:
    """Log in on each host as a run does, and ask what it is.

    A lab is started for it. Hosts of other drivers are left alone.
    """
    try:
        with (
            lab.up_while_used(inventory, lambda _: None) if inventory.lab else nullcontext(),
            Session(inventory, inventory.hosts) as session,
        ):
            check_addresses(session)
            facts, findings = preflight(session, disk_bytes=0)
    except FanOutFailed as problem:
        for name in problem.done:
            yield DoctorCheck(f"host {name}", "answers")
        for name, refused in problem.failed.items():
            yield _refused(f"host {name}", refused)
        return
    except BadInput as problem:
        yield _refused(f"inventory {inventory.name}", problem)
        return
    for name, about in facts.items():
        memory, disk = (about.memory_bytes or 0) / 1e9, about.disk_free_bytes / 1e9
        found = f"{about.cores} cores, {memory:.0f} GB of memory, {disk:.0f} GB of disk free, {about.os}"
        yield DoctorCheck(f"host {name}", found)
    for finding in findings:
        yield DoctorCheck(f"host {finding.host}: {finding.what}", finding.found, finding.wanted, needed=False)


def _refused(what: str, problem: BenchbookError) -> DoctorCheck:
    if not isinstance(problem, BadInput):
        return DoctorCheck(what, str(problem), "check that `ssh` reaches it")
    return DoctorCheck(what, problem.cause, problem.fix or "")


def _packages() -> Iterator[DoctorCheck]:
    yield DoctorCheck("Python", platform.python_version())
    yield DoctorCheck("packages", ", ".join(f"{name} {version(name)}" for name in _VERSIONS))
    yield DoctorCheck("checkout", str(paths.home()))
