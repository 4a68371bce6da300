"""The Go toolchain of this machine: where it is, what it is, and what it must be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from benchbook.errors import BadInput

MINIMUM = (1, 24)
FIX = (
    f"install Go {MINIMUM[0]}.{MINIMUM[1]} or newer: https://go.dev/dl in /usr/local/go, or conda-forge's `go` "
    "(`conda env create -f environment.yml`)"
)
_REQUIRE = "write it as MODULE/FILE, with a MODULE of go.mod"
_ASKED = ("GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64")


def program() -> str:
    """The path of `go`; /usr/local/go, where its own installer puts it, is often missing from PATH."""
    found = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/go/bin")
    if found is None:
        raise BadInput("Go is not on PATH", key="go", fix=FIX)
    return found


def environment() -> dict[str, str]:
    """Ours, without cgo: static programs need no C compiler here and no particular libc on the hosts.

    A fifth of a build's CPU is the compiler's own garbage collection (etcd: 83 s, or 66): it is left for later, until a
    process holds a gigabyte. Whoever has set it otherwise is heeded.
    """
    return {"GOGC": "800", "GOMEMLIMIT": "1GiB", **os.environ, "CGO_ENABLED": "0"}


def platform(module: Path) -> dict[str, str]:
    """Go's version and target as seen from a module folder (its go.mod may switch the toolchain).

    Raises BadInput when there is no Go, when it is too old, or when it cannot work with the module.
    """
    found: dict[str, str] = json.loads(_ask(module, "env", "-json", *_ASKED))
    if version(found["GOVERSION"]) < MINIMUM:
        raise BadInput("this Go is too old", file=program(), key="version", value=found["GOVERSION"], fix=FIX)
    return found


def module_file(module: Path, wanted: str) -> Path:
    """Where MODULE/FILE lies on this machine, for a MODULE that go.mod requires. Raises BadInput for another one."""
    required = [entry["Path"] for entry in json.loads(_ask(module, "mod", "edit", "-json")).get("Require", [])]
    owners = sorted((path for path in required if wanted.startswith(f"{path}/")), key=len)
    if not owners:
        raise BadInput(
            "no module that go.mod requires holds this file", file=module / "go.mod", value=wanted, fix=_REQUIRE
        )
    folder = _ask(module, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", owners[-1]).strip()
    return Path(folder) / wanted.removeprefix(f"{owners[-1]}/")


def _ask(module: Path, *question: str) -> str:
    command = [program(), *question]
    asked = subprocess.run(command, cwd=module, env=environment(), capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise BadInput("Go cannot work with this module", file=module / "go.mod", value=asked.stderr.strip(), fix=FIX)
    return asked.stdout


def version(goversion: str) -> tuple[int, ...]:
    """`go1.26.8` -> (1, 26); `devel ...` -> (), which is older than anything."""
    found = re.match(r"go(\d+)\.(\d+)", goversion)
    return tuple(int(part) for part in found.groups()) if found else ()
