"""One bad input, and how the files of a project folder are planted with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit import INVENTORY, PROFILE, REPORT, ROOT, Home, inventory

SECRET = "hunter2"
PUBLISHED = f"data/published/{REPORT}"
# What stands where, by what a user calls it.
FILES = {
    "inventory": f"variants/{INVENTORY}.yaml",
    "profile": "variants/own.yaml",
    "report.yaml": f"{PUBLISHED}/report.yaml",
    "claims.yaml": f"{PUBLISHED}/claims.yaml",
    "datapackage.json": f"{PUBLISHED}/datapackage.json",
    "table": f"{PUBLISHED}/oltp_insert.csv",
    "notebook": f"notebooks/{REPORT}.ipynb",
    "probe": "env/probes/own.py",
}
PROBE = 'METRICS = {"used": ("level", "B")}\n\n\ndef sample():\n    return {"used": 1}\n'


@dataclass(frozen=True)
class Row:
    """`plant` writes into a project folder; the arguments that it returns must then be refused with all of `words`."""

    name: str
    plant: Callable[[Home], list[str]]
    words: tuple[str, ...]
    # A command of its own beside `python -m benchbook`.
    transfer: bool = False


def ready(home: Home, file: str = "") -> list[str]:
    """Every file of `FILES` as it should be; the arguments that use all of them.

    Claims are checked last and take longest: they are left out unless they are the `file` that is about to change.
    """
    if file != "claims.yaml":
        (home.path / FILES["claims.yaml"]).unlink(missing_ok=True)
    own = {**PROFILE, "probes": ["own"]}
    for name, content in (("inventory", inventory("127.0.90")), ("profile", own), ("probe", PROBE)):
        home.write(FILES[name], content)
    where = ["--inventory", str(home.path / FILES["inventory"]), "--profile", str(home.path / FILES["profile"])]
    return ["report", REPORT, *where, "-p", "system=mariadb"]


def in_place_of(file: str, make: Callable[[Path], None]) -> Callable[[Home], list[str]]:
    """The file removed, and what `make` makes of its place, from a copy of what it was."""

    def plant(home: Home) -> list[str]:
        arguments = ready(home, file)
        make(home.path / FILES[file])
        return arguments

    return plant


def holding(file: str, content: str | bytes) -> Callable[[Home], list[str]]:
    """The file with this in it."""
    raw = content.encode() if isinstance(content, str) else content
    return in_place_of(file, lambda path: path.write_bytes(raw) and None)


def changed(file: str, old: str, new: str) -> Callable[[Home], list[str]]:
    """The file with the first `old` in it replaced."""

    def change(path: Path) -> None:
        text = path.read_text()
        assert old in text, f"{file} holds no {old!r}"
        path.write_text(text.replace(old, new, 1))

    return in_place_of(file, change)


def of_report(report: str, old: str, new: str) -> Callable[[Home], list[str]]:
    """The report.yaml of another report with the first `old` in it replaced, on the lab that the kit brings for it."""

    def plant(home: Home) -> list[str]:
        shutil.copytree(ROOT / "env" / "hosts", home.path / "env" / "hosts", dirs_exist_ok=True)
        folder = home.path / "data" / "published" / report
        (folder / "claims.yaml").unlink()
        path, text = folder / "report.yaml", (folder / "report.yaml").read_text()
        assert old in text, f"{report} holds no {old!r}"
        path.write_text(text.replace(old, new, 1))
        return ["report", report, "--profile", "tiny"]

    return plant


def with_inventory(**changes: Any) -> Callable[[Home], list[str]]:
    def plant(home: Home) -> list[str]:
        arguments = ready(home)
        home.write(FILES["inventory"], inventory("127.0.90", **changes))
        return arguments

    return plant


def with_host(*, lab: bool = True, **changes: Any) -> Callable[[Home], list[str]]:
    host = {"address": "127.0.90.11", "roles": ["tidb", "mysql"], **changes}
    return with_inventory(lab=lab, hosts={"executor": {"address": "127.0.90.1", "roles": ["client"]}, "db1": host})


def with_profile(**changes: Any) -> Callable[[Home], list[str]]:
    def plant(home: Home) -> list[str]:
        arguments = ready(home)
        home.write(FILES["profile"], {**PROFILE, **changes})
        return arguments

    return plant


def parameter(*pairs: str) -> Callable[[Home], list[str]]:
    return lambda home: [*ready(home), *(word for pair in pairs for word in ("-p", pair))]


def command(*words: str) -> Callable[[Home], list[str]]:
    return lambda home: list(words)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def large(path: Path) -> None:
    os.truncate(path, 100_000_000)


def utf_16(path: Path) -> None:
    path.write_bytes(path.read_text().encode("utf-16"))


def latin_1(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n# caf\xe9\n")


def nul(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n\0\n")
