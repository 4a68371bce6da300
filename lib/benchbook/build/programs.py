"""Builds the Go programs of env/systems/NAME/ into the cache, once per version of everything that goes into them.

    benchbook/NAME/KEY/           in the cache (see paths.cache_dir); whole or absent, because it is renamed into place
        tidb-server ...           the programs that build.yaml names
        build.json                what they were made of: the recipe, Go's version, the platform

KEY is a short SHA-256 of what build.yaml says but for its minutes, of go.mod, go.sum, our own sources, the Go version
and the target platform: change one of them and the next build goes to another folder; a fresh clone finds what an older
one built.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from benchbook import paths
from benchbook.errors import BadInput, BenchbookError, writing
from benchbook.user_input import user_file
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import Strict, load_model

Say = Callable[[str], None]
# Written last; a folder without it was never whole.
MANIFEST = "build.json"


@contextmanager
def only_one(folder: Path, say: Say) -> Iterator[None]:
    """Of several processes that make something below `folder`, one goes on and the others wait. Raise NotWritten."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is building {folder.name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A scratch folder that becomes `folder` if all goes well, and goes if not. To be used under `only_one`.

    Raise NotWritten for a disk that does not take it.
    """
    with writing(folder):
        for left_by_a_killed_process in folder.parent.glob(f".{folder.name}-*"):
            shutil.rmtree(left_by_a_killed_process)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield scratch
            scratch.chmod(0o755)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


OLDEST_GO = (1, 24)
INSTALL_GO = (
    f"install Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer: https://go.dev/dl in /usr/local/go, or conda-forge's `go` "
    "(`conda env create -f environment.yml`)"
)
_REQUIRED = "write it as MODULE/FILE, with a MODULE of go.mod"
_ASKED = ("GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64")


def go_program() -> str:
    """Return the path of `go`; /usr/local/go, where its own installer puts it, is often missing from PATH."""
    found = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/go/bin")
    if found is None:
        raise BadInput("Go is not on PATH", key="go", fix=INSTALL_GO)
    return found


def go_environment(*, cgo: bool = False) -> dict[str, str]:
    """Ours; without cgo, static programs need no C compiler here and no particular libc on the hosts."""
    return {**os.environ, "CGO_ENABLED": "1" if cgo else "0"}


def go_platform(module: Path) -> dict[str, str]:
    """Go's version and target as seen from a module folder (its go.mod may switch the toolchain).

    Raise BadInput when there is no Go, when it is too old, or when it cannot work with the module.
    """
    found: dict[str, str] = json.loads(_ask_go(module, "env", "-json", *_ASKED))
    if go_version(found["GOVERSION"]) < OLDEST_GO:
        raise BadInput("this Go is too old", file=go_program(), key="version", value=found["GOVERSION"], fix=INSTALL_GO)
    return found


def go_module_file(module: Path, wanted: str) -> Path:
    """Where MODULE/FILE lies on this machine, for a MODULE that go.mod requires. Raise BadInput for another one."""
    required = [entry["Path"] for entry in json.loads(_ask_go(module, "mod", "edit", "-json")).get("Require", [])]
    owners = sorted((path for path in required if wanted.startswith(f"{path}/")), key=len)
    if not owners:
        raise BadInput(
            "no module that go.mod requires holds this file", file=module / "go.mod", value=wanted, fix=_REQUIRED
        )
    folder = _ask_go(module, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", owners[-1]).strip()
    return Path(folder) / wanted.removeprefix(f"{owners[-1]}/")


def _ask_go(module: Path, *question: str) -> str:
    command = [go_program(), *question]
    asked = subprocess.run(command, cwd=module, env=go_environment(), capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise BadInput(
            "Go cannot work with this module", file=module / "go.mod", value=asked.stderr.strip(), fix=INSTALL_GO
        )
    return asked.stdout


def go_version(goversion: str) -> tuple[int, ...]:
    """`go1.26.8` -> (1, 26); `devel ...` -> (), which is older than anything."""
    found = re.match(r"go(\d+)\.(\d+)", goversion)
    return tuple(int(part) for part in found.groups()) if found else ()


TICK_S = 30.0
# No program is as small as this.
FULL_BYTES = 100_000


class NotBuilt(BadInput):
    """A system's programs are asked for before they were built."""


class BuildFailed(BenchbookError):
    """The compiler refused; carries the last lines that it printed."""


def _joined(flags: object) -> object:
    return " ".join(map(str, flags)) if isinstance(flags, list) else flags


class Recipe(Strict):
    """env/systems/NAME/build.yaml."""

    description: Annotated[str, Field(min_length=1)]
    programs: Annotated[dict[str, str], Field(min_length=1)]  # file name -> Go package
    files: dict[str, str] = {}  # file name -> MODULE/FILE: what a dependency ships beside its code (SQL, templates)
    ldflags: Annotated[str, BeforeValidator(_joined)] = ""  # as Go takes them, or as a list of them
    tags: list[str] = []
    # Needs a C compiler here. Link it statically by `ldflags`: hosts may have another libc.
    cgo: bool = False
    # From empty caches on 2 cores, downloads among them: what the user is told to expect.
    minutes: Annotated[float, Field(gt=0)]
    inputs: list[str] = ["**/*.go"]  # our own sources, as globs: part of the key


def systems() -> list[str]:
    """Return the names of all systems that are built from source, sorted."""
    return sorted(file.parent.name for file in _systems_dir().glob("*/build.yaml"))


def recipe(name: str) -> Recipe:
    """Return how NAME is built. Raise BadInput when there is no such system or its build.yaml is wrong."""
    file = _systems_dir() / name / "build.yaml"
    one_of(name, systems(), "system", problem="this system is not built from source")
    return load_model(Recipe, file)


def artefact(name: str) -> Path:
    """Return the folder that holds the built programs of NAME. Raise NotBuilt, naming the command that builds them."""
    folder = folder_for(name)
    if not (folder / MANIFEST).is_file():
        raise NotBuilt("its programs are not built yet", file=folder, key=name, fix=f"run `benchbook build {name}`")
    return folder


def is_built(name: str) -> bool:
    return (folder_for(name) / MANIFEST).is_file()


def folder_for(name: str) -> Path:
    """Return where the programs of NAME are or will be; asks Go for its version."""
    return paths.cache_dir() / name / key(name, recipe(name), go_platform(_systems_dir() / name))


def key(name: str, wanted: Recipe, target: dict[str, str]) -> str:
    """12 hex digits that change with anything that the programs are made of."""
    module = _systems_dir() / name
    files = {"go.mod", "go.sum"}
    files |= {str(file.relative_to(module)) for glob in wanted.inputs for file in module.glob(glob) if file.is_file()}
    made_of = wanted.model_dump(mode="json", exclude={"minutes"} if wanted.cgo else {"minutes", "cgo"})
    digest = hashlib.sha256(json.dumps([target, made_of], sort_keys=True).encode())
    for file in sorted(files):
        content = user_file.content(module / file, most=100_000_000) if user_file.is_there(module / file) else b""
        digest.update(f"\n{file} {hashlib.sha256(content).hexdigest()}".encode())
    return digest.hexdigest()[:12]


def build(name: str, say: Say = print) -> Path:
    """Builds NAME unless it is built; returns its folder. Two at once: the second waits and finds it done.

    `say` gets one line at the start, one every 30 s, one at the end. Raise BuildFailed with the compiler's last lines.
    """
    wanted, folder = recipe(name), folder_for(name)
    if is_built(name):
        return folder
    with only_one(folder.parent, say):
        if not (folder / MANIFEST).is_file():
            _build_into(folder, name, wanted, say)
    return folder


def _build_into(folder: Path, name: str, wanted: Recipe, say: Say) -> None:
    say(f"building {name}: about {wanted.minutes:g} min from empty caches on 2 cores")
    start = time.monotonic()
    with atomic_folder(folder) as scratch:
        for program, package in wanted.programs.items():
            command = _command(wanted, scratch / program, package)
            _compile(command, _systems_dir() / name, scratch, say, go_environment(cgo=wanted.cgo))
        (scratch / "go.log").unlink()
        for file, source in wanted.files.items():
            shutil.copyfile(go_module_file(_systems_dir() / name, source), scratch / file)
        made_of = {**wanted.model_dump(), **go_platform(_systems_dir() / name)}
        (scratch / MANIFEST).write_text(json.dumps(made_of, indent=2) + "\n")
    say(f"built {name} in {time.monotonic() - start:.0f} s: {folder}")


def _command(wanted: Recipe, out: Path, package: str) -> list[str]:
    # -mod=readonly: go.sum is enforced, and a build never changes the committed files.
    command = [
        go_program(),
        "build",
        "-mod=readonly",
        "-buildvcs=false",
        "-trimpath",
        f"-ldflags={wanted.ldflags}",
    ]
    tags = [f"-tags={','.join(wanted.tags)}"] if wanted.tags else []
    return [*command, *tags, "-o", str(out), package]


def _compile(command: list[str], module: Path, scratch: Path, say: Say, env: dict[str, str]) -> None:
    start, log = time.monotonic(), scratch / "go.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=module, env=env, stdout=output, stderr=subprocess.STDOUT) as process,
        _ended_with_us(process),
    ):
        while (status := _wait(process, TICK_S)) is None:
            say(f"  {Path(command[-1]).name}: {time.monotonic() - start:.0f} s")
    if status != 0:
        if shutil.disk_usage(scratch).free < FULL_BYTES:
            # What it had to say of it found no room either.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        tail = " | ".join(log.read_text(errors="replace").strip().splitlines()[-10:]) or "no output"
        raise BuildFailed(f"`go build {command[-1]}` in {module} ended with status {status}: {tail}")


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def _ended_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C or an error here must not leave a compiler running."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()


def _systems_dir() -> Path:
    return paths.find("env", "systems")
