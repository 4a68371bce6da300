"""env/ddt-jar's decisions, on a PATH whose Maven and git are the test's own: what it needs, and what it leaves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from kit import ROOT

TOOLS = "sh printf mkdir mktemp rm cp grep sed mv tail dirname".split()
# Notes what it is asked for, and makes the jar that `package` makes.
MAVEN = """\
#!/bin/sh
echo "$*" >>"$HOME/mvn.calls"
case "$*" in *package) mkdir -p execute/target && echo jar >execute/target/execute-1.1.0.jar ;; esac
grep -c jaxb-api pom.xml >>"$HOME/jaxb" || true
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A home folder, with `bin` as all its PATH."""
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    for name, text in (("mvn", MAVEN), ("javac", "#!/bin/sh\n")):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in ("icefrog", "DocumentDataTransfer"):
        (tmp_path / "sources" / name).mkdir(parents=True)
        (tmp_path / "sources" / name / "pom.xml").write_text("<dependencies>\n</dependencies>\n<dependencies>\n")
    return tmp_path


def run(machine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(machine), "PATH": str(machine / "bin")}
    command = [str(machine / "bin" / "sh"), str(ROOT / "env" / "ddt-jar"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def left(machine: Path) -> list[str]:
    return sorted(path.name for path in (machine / ".cache" / "benchbook" / "ddt").iterdir())


def test_it_builds_once_and_then_only_prints_the_path(machine: Path) -> None:
    done = run(machine, str(machine / "sources"))
    jar = machine / ".cache" / "benchbook" / "ddt" / "execute-1.1.0-1ab6b70.jar"
    assert (done.returncode, done.stdout) == (0, f"{jar}\n"), done.stderr
    assert jar.read_text() == "jar\n"
    calls = (machine / "mvn.calls").read_text().splitlines()
    assert [call.split("-Dgpg.skip=true ")[1].split()[0] for call in calls] == ["-pl", "install:install-file", "-pl"]
    assert (machine / "jaxb").read_text().split() == ["1", "1", "0"], "named once, in icefrog's pom alone"
    assert left(machine) == ["build.log", jar.name], "what it was built in is gone"
    again = run(machine)
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{jar}\n", "")
    assert len((machine / "mvn.calls").read_text().splitlines()) == 3


def test_what_is_missing_is_one_sentence(machine: Path) -> None:
    done = run(machine)
    assert (done.returncode, done.stdout) == (2, "")
    fix = "Fix: sudo apt-get install -y git maven openjdk-17-jdk-headless"
    assert done.stderr == f"ddt-jar: missing: git. {fix}\n"
    (machine / "bin" / "mvn").unlink()
    assert run(machine, str(machine / "sources")).stderr == f"ddt-jar: missing: mvn. {fix}\n"


def test_ctrl_c_in_mid_build_leaves_nothing(machine: Path) -> None:
    started, never = machine / "started", machine / "never"
    os.mkfifo(started)
    os.mkfifo(never)
    (machine / "bin" / "mvn").write_text(f"#!/bin/sh\necho >{started}\nread x <{never}\n")
    command = [str(machine / "bin" / "sh"), str(ROOT / "env" / "ddt-jar"), str(machine / "sources")]
    environment = {"HOME": str(machine), "PATH": str(machine / "bin")}
    building = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    started.read_text()
    os.killpg(building.pid, signal.SIGINT)
    assert building.wait() == 130
    assert left(machine) == ["build.log"]
