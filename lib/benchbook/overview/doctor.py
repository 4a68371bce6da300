"""`benchbook doctor`: what is missing on this machine, and what it has; nothing is changed, and no host is asked."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
from rich.console import Console

from benchbook import notebook_run, paths
from benchbook.build import artefacts
from benchbook.given import user_file
from benchbook.hosts.remote import tune
from benchbook.overview.terminal_table import show

# Servers stand in folders that a user's PATH often lacks; the same list as in env/setup.
_MORE_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin"
_NEEDED_FOR = {"report": "", "test": " (for tests only)", "wanted": " (a run can do without)"}
# A smoke run of all reports, with what is built for it.
_DISK_GB, _MEMORY_GB = 10.0, 4.0
_VERSIONS = ("benchbook", "fabric", "papermill", "jupyterlab", "pandas", "scipy", "typer")


@dataclass(frozen=True)
class Symptom:
    """One thing that was looked at; `fix` is empty where it is well. `needed`: nothing runs without it."""

    what: str
    found: str
    fix: str = ""
    needed: bool = True


def examine() -> list[Symptom]:
    """Everything that was looked at, in the order of the terminal."""
    return [*_programs(), *_disks(), _memory(), _cores(), *_settings(), *_built(), *_packages()]


def print_all(console: Console) -> int:
    """Print what `examine` found; 1 where something that every run needs is missing."""
    found = examine()
    rows = [("missing" if s.fix and s.needed else "look" if s.fix else "ok", s.what, s.found, s.fix) for s in found]
    show(console, ("", "what", "found", "fix"), rows)
    missing = [symptom for symptom in found if symptom.fix and symptom.needed]
    console.print(
        f"missing: {', '.join(s.what for s in missing)}" if missing else "nothing that a run needs is missing"
    )
    return 1 if missing else 0


def _programs() -> Iterator[Symptom]:
    """The table that env/setup reads: purpose, program, Debian package, conda package."""
    search = ":".join([os.environ.get("PATH", ""), _MORE_PATH, *map(str, Path("/usr/lib/postgresql").glob("*/bin"))])
    lines = user_file.text(paths.find("env", "debian-packages.txt")).splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    # A program that serves several purposes is told once, by the first of them.
    programs = {row[1]: row for row in reversed([*rows, ["report", "go", "golang-go", "go"]])}
    for purpose, program, debian, _ in reversed(programs.values()):
        where = _where(program, search)
        fix = "" if where else f"apt-get install {debian}{_NEEDED_FOR.get(purpose, f' (for {purpose})')}"
        yield Symptom(program, where or "not found", fix, needed=purpose == "report")


def _where(program: str, search: str) -> str:
    kind, _, module = program.partition(":")
    if not module:
        return shutil.which(kind, path=search) or ""
    return "importable" if importlib.util.find_spec(module) else ""


def _disks() -> Iterator[Symptom]:
    for what, folder in (("disk of data/runs", paths.runs_dir("x").parent), ("disk of the cache", paths.cache_dir())):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free / 1e9
        fix = "" if free >= _DISK_GB else f"free some: a smoke run of all reports takes up to {_DISK_GB:g} GB"
        writable = "" if os.access(there, os.W_OK) else f"make {there} writable"
        yield Symptom(what, f"{free:.0f} GB free at {folder}", writable or fix, needed=bool(writable))


def _memory() -> Symptom:
    free = psutil.virtual_memory().available / 1e9
    fix = "" if free >= _MEMORY_GB else f"{_MEMORY_GB:g} GB are better: servers and their load run side by side"
    return Symptom("memory", f"{free:.1f} GB available", fix, needed=False)


def _cores() -> Symptom:
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    fix = "something runs here already, and would be measured too" if load > cores / 2 else ""
    return Symptom("cores", f"{cores}, load {load:.1f}", fix, needed=False)


def _settings() -> Iterator[Symptom]:
    """What a lab's run that was killed has left set; only root is told."""
    for file, now, before in tune.left("/") if os.geteuid() == 0 else []:
        found = f"{now}, left by a run that was killed; it was {before}"
        yield Symptom(file, found, f"echo {before} > {file}", needed=False)
    for folder in notebook_run.left_by_killed_runs():
        fix = f"rm -r {folder} (the next run does)"
        yield Symptom("temporary folder", f"{folder}, left by a run that was killed", fix, needed=False)


def _built() -> Iterator[Symptom]:
    for name in artefacts.names():
        yield Symptom(f"system {name}", artefacts.state(name))


def _packages() -> Iterator[Symptom]:
    yield Symptom("Python", platform.python_version())
    yield Symptom("packages", ", ".join(f"{name} {version(name)}" for name in _VERSIONS))
    yield Symptom("checkout", str(paths.home()))
