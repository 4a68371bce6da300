"""Building a system from source: what the key depends on, when nothing is done, and what is said when it fails."""

import fcntl
import json
import shutil
import subprocess
import threading

import pytest
from fault_campaign import small_disks

from benchbook.build import programs
from benchbook.errors import BadInput, NotWritten

RECIPE = """\
description: a toy
programs:
  toy: example.org/toy
ldflags: -s -w
minutes: 1
"""

# Answers as Go does, writes what it is asked to build, and notes each build in the file `builds`.
FAKE_GO = """\
#!/bin/sh
here=$(dirname "$0")
case $1 in
env) cat "$here/platform.json" ;;
mod) cat "$here/mod.json" ;;
list) cat "$here/dir" ;;
build)
    echo "$CGO_ENABLED $*" >>"$here/builds"
    if [ -e "$here/broken" ]; then echo "main.go:3:1: syntax error" >&2; exit 1; fi
    while [ "$1" != -o ]; do shift; done
    echo program >"$2" ;;
esac
"""


class Toy:
    """A project with one system, `toy`, and a Go that only pretends."""

    def __init__(self, tmp_path):
        self.module = tmp_path / "home" / "env" / "systems" / "toy"
        self.module.mkdir(parents=True)
        self.cache = tmp_path / "cache"
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        for name, text in {
            "build.yaml": RECIPE,
            "go.mod": "module example.org/toy\n",
            "main.go": "package main\n",
        }.items():
            self.write(name, text)
        (self.bin / "go").write_text(FAKE_GO)
        (self.bin / "go").chmod(0o755)
        self.go_is("go1.26.1")

    def write(self, name, text):
        (self.module / name).write_text(text)

    def go_is(self, version):
        platform = {"GOVERSION": version, "GOOS": "linux", "GOARCH": "amd64"}
        (self.bin / "platform.json").write_text(json.dumps(platform))

    def require(self, path, folder):
        (self.bin / "mod.json").write_text(json.dumps({"Require": [{"Path": path, "Version": "v1.0.0"}]}))
        (self.bin / "dir").write_text(f"{folder}\n")

    def builds(self):
        log = self.bin / "builds"
        return log.read_text().splitlines() if log.exists() else []

    def break_compiler(self):
        (self.bin / "broken").touch()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    toy = Toy(tmp_path)
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(toy.cache))
    monkeypatch.setenv("PATH", f"{toy.bin}:/usr/bin:/bin")
    return toy


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("go.mod", "module example.org/toy\n\nrequire example.org/other v1.0.0\n", True),
        ("go.sum", "example.org/other v1.0.0 h1:abc=\n", True),
        ("main.go", "package main // changed\n", True),
        ("build.yaml", RECIPE.replace("-s -w", "-s"), True),
        ("toy.toml.j2", "port = {{ port }}\n", False),
        ("build.yaml", RECIPE.replace("minutes: 1", "# measured anew\nminutes: 2"), False),
    ],
)
def test_what_goes_into_the_programs_changes_the_folder_and_nothing_else(toy, file, text, changes):
    before = programs.folder_for("toy")
    toy.write(file, text)
    assert (programs.folder_for("toy") != before) == changes


@pytest.mark.parametrize("version", ["go1.27.0", "go1.25rc1 X:none", "go1.24"])
def test_another_go_changes_the_folder(toy, version):
    before = programs.folder_for("toy")
    toy.go_is(version)
    assert programs.folder_for("toy") != before


def test_what_is_not_built_names_the_command_that_builds_it(toy):
    with pytest.raises(programs.NotBuilt, match="benchbook build toy") as caught:
        programs.artefact("toy")
    assert caught.value.exit_status == 2
    assert not programs.is_built("toy")


def test_it_is_built_once(toy):
    said = []
    folder = programs.build("toy", said.append)
    assert programs.build("toy", said.append) == folder == programs.artefact("toy")
    assert (folder / "toy").read_text() == "program\n"
    assert len(toy.builds()) == 1
    assert said[0] == "building toy: about 1 min from empty caches on 2 cores"
    assert len(said) == 2


@pytest.mark.parametrize("flags", ["-s -w", "[-s, -w]"])
def test_the_command_enforces_go_sum_and_makes_static_programs(toy, flags):
    toy.write("build.yaml", RECIPE.replace("-s -w", flags))
    programs.build("toy", lambda _: None)
    (line,) = toy.builds()
    assert line.startswith("0 build -mod=readonly -buildvcs=false -trimpath -ldflags=-s -w -o ")
    assert line.endswith(" example.org/toy")


def test_a_failed_build_says_why_and_leaves_nothing(toy):
    toy.break_compiler()
    with pytest.raises(programs.BuildFailed, match="syntax error") as caught:
        programs.build("toy", lambda _: None)
    assert caught.value.exit_status == 1
    assert [entry.name for entry in (toy.cache / "benchbook" / "toy").iterdir()] == [".lock"]


@pytest.mark.parametrize("kind", ["disk full", "read-only"])
def test_a_cache_that_takes_nothing_is_named(toy, kind):
    if why := small_disks.why_not():
        pytest.skip(why)
    (toy.bin / "broken").touch()
    toy.cache.mkdir(exist_ok=True)
    small_disks.mount(toy.cache, 200 << 10)
    mend = small_disks.spoil(kind, toy.cache)
    try:
        said = "No space left" if kind == "disk full" else "Read-only file system"
        with pytest.raises(NotWritten, match=rf"{toy.cache}.*toy.* cannot be written: {said}.*Fix: free some space"):
            programs.build("toy", print)
    finally:
        mend()
        small_disks.unmount(toy.cache)


def test_what_a_killed_build_left_is_removed(toy):
    folder = programs.folder_for("toy")
    left = folder.parent / f".{folder.name}-killed"
    left.mkdir(parents=True)
    programs.build("toy", lambda _: None)
    assert not left.exists()


def test_a_second_build_waits_for_the_first_and_finds_it_done(toy):
    folder = programs.folder_for("toy")
    folder.parent.mkdir(parents=True)
    waiting = threading.Event()
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=programs.build, args=("toy", lambda _: waiting.set()))
        second.start()
        assert waiting.wait(timeout=30)
        folder.mkdir()
        (folder / "build.json").write_text("{}")
    second.join(timeout=30)
    assert not second.is_alive()
    assert toy.builds() == []


def test_no_go_is_bad_input_with_the_fix(toy, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(BadInput, match=r"Go is not on PATH.*https://go\.dev/dl"):
        programs.build("toy")


@pytest.mark.parametrize("version", ["go1.23.9", "go1.4", "devel go1.27"])
def test_an_old_go_is_bad_input_with_the_fix(toy, version):
    toy.go_is(version)
    with pytest.raises(BadInput, match=r"too old.*install Go 1\.24 or newer"):
        programs.build("toy")


def test_files_that_a_dependency_ships_lie_beside_the_programs(toy):
    shipped = toy.cache / "module" / "sqls" / "store.sql"
    shipped.parent.mkdir(parents=True)
    shipped.write_text("create table t (id int);\n")
    toy.write("build.yaml", RECIPE + "files: {store.sql: example.org/other/sqls/store.sql}\n")
    toy.require("example.org/other", shipped.parents[1])
    folder = programs.build("toy", lambda _: None)
    assert (folder / "store.sql").read_text() == "create table t (id int);\n"
    assert {file.name for file in folder.iterdir()} == {"toy", "store.sql", "build.json"}


def test_a_file_of_a_module_that_is_not_required_is_bad_input(toy):
    toy.write("build.yaml", RECIPE + "files: {store.sql: example.org/unknown/store.sql}\n")
    toy.require("example.org/other", toy.cache)
    with pytest.raises(BadInput, match=r"go\.mod.*example\.org/unknown/store\.sql"):
        programs.build("toy", lambda _: None)


def test_an_unknown_system_names_the_known_ones(toy):
    with pytest.raises(BadInput, match=r"tydb.*there are: toy$"):
        programs.build("tydb")


def test_a_wrong_key_in_the_recipe_is_named(toy):
    toy.write("build.yaml", RECIPE + "ldflag: -s\n")
    with pytest.raises(BadInput, match=r"build\.yaml: line 6, ldflag: .*did you mean ldflags"):
        programs.recipe("toy")


def test_every_recipe_of_this_project_is_valid():
    assert "tidb" in programs.systems()
    for name in programs.systems():
        assert programs.recipe(name).programs


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH")
def test_a_real_go_builds_a_real_program(tmp_path, monkeypatch):
    # The compiler's own cache stays where it is, or this test would compile Go's runtime anew.
    monkeypatch.setenv("GOCACHE", subprocess.check_output(["go", "env", "GOCACHE"], text=True).strip())
    home = Toy(tmp_path)
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home.cache))
    home.write("go.mod", "module example.org/toy\n\ngo 1.24\n")
    home.write("main.go", 'package main\n\nfunc main() { println("built") }\n')
    folder = programs.build("toy", lambda _: None)
    ran = subprocess.run([folder / "toy"], capture_output=True, text=True, check=True)
    assert ran.stderr == "built\n"
