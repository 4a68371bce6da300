"""env/setup's decisions, on a PATH that holds nothing but what a test puts there; and that the lists agree."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from kit import ROOT

TOOLS = "sh awk sed grep cat dirname mkdir rm tail touch chmod ln sha256sum true".split()
REPORT = {
    "python3",
    "sysbench",
    "mariadbd",
    "mariadb-install-db",
    "my_print_defaults",
    "sshd",
    "ssh",
    "ssh-keygen",
    "ab",
    "mydumper",
}
# What one report alone needs.
PGCAT = {"postgres", "pgbench", "pgbouncer"}
ROCKSDB = {"db_bench", "ldb"}
DOLT = {"g++"}
TEST = {"chromium", "redis-check-rdb", "redis-benchmark", "redis-cli", "mvn"}

# Pretends to install: makes each program that the test says a package holds.
APT_GET = """\
#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >>"$HOME/apt.calls"
case "$*" in *install*) ;; *) touch "$HOME/lists"; exit 0 ;; esac
if [ -e "$HOME/stale" ] && [ ! -e "$HOME/lists" ]; then echo "E: Unable to locate package" >&2; exit 100; fi
if [ -e "$HOME/broken" ]; then echo "E: dpkg was interrupted" >&2; exit 100; fi
for program in $(cat "$HOME/brings"); do
    mkdir -p "$FAKE_BIN/$(dirname "$program")" && ln -sf "$FAKE_BIN/true" "$FAKE_BIN/$program"
done
"""

# Pretends to be uv: `uv venv` makes a .venv whose Python is the real one.
UV = """\
#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$*" >>"$HOME/uv.calls"
if [ "$1" = venv ]; then
    for folder; do :; done
    mkdir -p "$folder/bin" && ln -s "$FAKE_BIN/python3" "$folder/bin/python"
fi
"""


class Machine:
    """A checkout with env/ only, and a PATH of its own."""

    def __init__(self, tmp_path):
        self.checkout = tmp_path / "checkout"
        (self.checkout / "env" / "systems" / "tidb").mkdir(parents=True)
        for file in ("setup", "debian-packages.txt", "requirements.lock"):
            shutil.copy(ROOT / "env" / file, self.checkout / "env" / file)
        shutil.copy(ROOT / "pyproject.toml", self.checkout)
        self.home = tmp_path / "home"
        self.bin = tmp_path / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.has(*(REPORT | PGCAT | ROCKSDB | DOLT | TEST) - {"python3"})
        (self.bin / "python3").symlink_to(os.path.realpath(sys.executable))
        self.program("id", "#!/bin/sh\necho 1000\n")
        self.program("go", "#!/bin/sh\necho go1.26.1\n")
        self.program("uv", UV)

    def program(self, name, text="#!/bin/sh\n"):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def has(self, *names):
        for name in names:
            self.program(name)

    def lacks(self, *names):
        for name in names:
            (self.bin / name).unlink()

    def is_root_on_debian(self, go_candidate="2:1.19~1", brings=()):
        self.program("id", "#!/bin/sh\necho 0\n")
        self.program("apt-get", APT_GET)
        self.program("apt-cache", f"#!/bin/sh\necho golang-go:\necho '  Candidate: {go_candidate}'\n")
        (self.home / "brings").write_text(" ".join(brings))

    def setup(self, *arguments, **more):
        env = {
            **more,
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "FAKE_BIN": str(self.bin),
            "BENCHBOOK_EXTRA_PATH": f"{self.bin}:{self.bin}/postgresql/*/bin",
        }
        command = [str(self.checkout / "env" / "setup"), *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def calls(self, name):
        log = self.home / f"{name}.calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize("purpose", ["python", "report", "test"])
def test_a_machine_that_has_everything_is_left_alone(machine, purpose):
    ran = machine.setup("--programs", purpose)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


APT = "apt-get install -y --no-install-recommends"


@pytest.mark.parametrize(
    ("lacks", "purpose", "report", "said"),
    [
        # What one report needs is asked for with that report; what is only tested, for tests.
        (["pgbouncer"], "report", "", f"{APT} pgbouncer"),
        (["pgbouncer"], "report", "pgcat_pgbench", f"{APT} pgbouncer"),
        (["pgbouncer"], "report", "dtm_mysql", ""),
        (["pgbouncer"], "test", "", f"{APT} pgbouncer"),
        (["pgbouncer"], "python", "", ""),
        # The header of Dolt is not found without it.
        (["g++"], "report", "", f"{APT} g++ libicu-dev"),
        (["g++"], "test", "", ""),
        (["chromium"], "report", "", ""),
        (["chromium"], "test", "", f"{APT} chromium"),
        (["sysbench", "go", "chromium"], "python", "", ""),
        (["go"], "report", "", "Go >= 1.24 (found none)"),
    ],
)
def test_what_is_missing_is_named_with_its_package_for_who_needs_it(machine, lacks, purpose, report, said):
    machine.lacks(*lacks)
    ran = machine.setup("--programs", purpose, REPORT=report)
    assert ran.returncode == (2 if said else 0)
    assert said in ran.stderr
    assert bool(ran.stderr) == bool(said)


@pytest.mark.parametrize(
    ("program", "text", "said"),
    [
        ("go", "echo go1.19.8", "missing: Go >= 1.24 (found go1.19.8). Fix: Go 1.24 or newer from https://go.dev/dl"),
        (
            "python3",
            "[ $1 = --version ] && echo Python 3.9.2 || exit 1",
            "Python >= 3.11 (found Python 3.9.2)",
        ),
    ],
)
def test_an_old_program_is_named_with_the_fix(machine, program, text, said):
    machine.lacks(program)
    machine.program(program, f"#!/bin/sh\n{text}\n")
    ran = machine.setup("--programs", "report")
    assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr


def test_a_user_is_told_everything_in_one_line_before_anything_happens(machine):
    machine.lacks("sysbench", "mariadbd", "mariadb-install-db")
    ran = machine.setup("report")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "missing: sysbench, mariadbd, mariadb-install-db." in ran.stderr
    assert f"sudo {APT} sysbench mariadb-server-core." in ran.stderr
    assert "conda env create -f environment.yml && conda activate benchbook (conda-forge has no sysbench)" in ran.stderr
    assert ran.stdout == ""
    assert machine.calls("uv") == []


def test_without_maven_a_run_goes_on(machine):
    machine.lacks("mvn")
    ran = machine.setup("--programs", "report")
    said = "setup: without Maven (mvn; Debian package maven) MySQL cannot be fetched: MariaDB takes its place\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, said, "")


def test_go_comes_from_debian_where_debians_is_new_enough(machine):
    machine.lacks("go")
    machine.program("apt-cache", "#!/bin/sh\necho '  Candidate: 2:1.24~2'\n")
    assert f"{APT} golang-go." in machine.setup("--programs", "report").stderr


@pytest.mark.parametrize(
    ("lacks", "brings", "there", "status", "said", "calls"),
    [
        (["sysbench", "ssh", "ssh-keygen"], ["sysbench", "ssh", "ssh-keygen"], "", 0, "",
         ["install sysbench openssh-client"]),
        (["mvn"], ["mvn"], "", 0, "", ["install maven"]),
        # Debian makes no cluster where its common package was there before; PostgreSQL lies in a folder per version.
        (["postgres"], ["postgresql/15/bin/postgres"], "", 0, "", ["install postgresql-common", "install postgresql"]),
        (["sysbench"], ["sysbench"], "stale", 0, "", ["install sysbench", "update", "install sysbench"]),
        (["sysbench"], [], "broken", 2, "E: dpkg was interrupted", ["install sysbench"]),
        (["sysbench"], [], "", 2, "missing: sysbench.", ["install sysbench"]),
        # Nothing is changed when the rest cannot be mended.
        (["sysbench", "go"], ["sysbench"], "", 2, "https://go.dev/dl", []),
    ],
)  # fmt: skip
def test_root_on_debian_installs_what_is_missing_and_nothing_else(machine, lacks, brings, there, status, said, calls):
    machine.lacks(*lacks)
    machine.is_root_on_debian(brings=brings)
    if there:
        (machine.home / there).touch()
    ran = machine.setup("--programs", "report")
    assert (ran.returncode, said in ran.stderr) == (status, True), ran.stderr
    assert [re.sub("noninteractive -qq | -y --no-install-recommends", "", call) for call in machine.calls("apt")][
        : len(calls)
    ] == calls
    assert bool(calls) == bool(machine.calls("apt"))
    if there == "broken":
        assert f"{machine.home}/.cache/benchbook/apt.log" in ran.stderr


def test_root_makes_the_account_of_its_labs_where_there_is_none(machine):
    machine.is_root_on_debian()
    machine.program("useradd", '#!/bin/sh\necho "$*" >> "$HOME/useradd.calls"\n')
    assert machine.setup("--programs", "report").returncode == 0
    assert machine.calls("useradd") == []
    machine.program("id", '#!/bin/sh\n[ "$1" = -u ] && echo 0\n')
    assert machine.setup("--programs", "report").returncode == 0
    (made,) = machine.calls("useradd")
    assert made.endswith("--password * benchbook")


def test_packages_are_installed_by_hash_and_once(machine):
    assert machine.setup("report").returncode == 0
    first = machine.calls("uv")
    assert [call.split()[:2] for call in first] == [["venv", "-q"], ["pip", "sync"], ["pip", "install"]]
    # Else every start of Python compiles all that it imports, where the environment asks it to keep no bytecode.
    assert "--compile-bytecode" in first[1].split()
    assert "--require-hashes" in first[1]
    assert "--no-deps --no-build-isolation -e" in first[2]
    again = machine.setup("report")
    assert (again.returncode, again.stdout) == (0, "")
    assert machine.calls("uv") == first


def test_no_network_is_one_sentence_and_any_other_failure_shows_its_last_words(machine):
    said = "error: Request failed after 3 retries\n  Caused by: dns error\n  Caused by: failed to lookup address\n"
    machine.program(
        "uv", f"#!/bin/sh\n[ $1 = --version ] && exit 0\n[ $1 = venv ] && exit 0\nprintf '{said}' >&2\nexit 2\n"
    )
    ran = machine.setup("python")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("setup: cannot reach the package index")
    assert "Fix: connect to the network" in line
    machine.program(
        "uv", (machine.bin / "uv").read_text().replace("dns error", "hash mismatch").replace("failed to", "")
    )
    ran = machine.setup("python")
    assert "Caused by: hash mismatch" in ran.stderr
    assert "cannot reach" not in ran.stderr


def test_another_lock_installs_again_into_the_same_venv(machine):
    machine.setup("report")
    with (machine.checkout / "env" / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    machine.setup("report")
    assert [call.split()[:2] for call in machine.calls("uv")[3:]] == [["pip", "sync"], ["pip", "install"]]


def test_a_checkout_that_was_moved_gets_a_new_venv(machine):
    machine.setup("report")
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))
    machine.setup("report")
    assert machine.calls("uv")[3].split()[0] == "venv"


def test_a_package_of_ones_own_stays_installed(machine):
    """What is not in the lock goes when that changes; a name that the package gives is known after an installation."""
    machine.setup("python")
    package = machine.checkout.parent / "my package"
    package.mkdir()
    assert machine.setup("package", str(package)).stderr.startswith("setup: no package in ")
    (package / "pyproject.toml").write_text("[project]\n")
    for _ in range(2):
        assert machine.setup("package", str(package)).returncode == 0
    installed = f"pip install -q -e {package}"
    assert machine.calls("uv")[3:] == [*machine.calls("uv")[1:3], installed]
    (package / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    assert machine.setup("report").returncode == 0
    assert machine.calls("uv")[-1] == installed
    assert len(machine.calls("uv")) == 9


def test_a_package_that_is_gone_is_said_before_anything_is_changed(machine):
    """To make the .venv anew took every package of one's own out, and then broke off."""
    assert machine.setup("python").returncode == 0
    before = machine.calls("uv")
    (machine.checkout / "env" / "packages.txt").write_text("/no/such/package\n")
    ran = machine.setup("python")
    assert ran.returncode == 2
    assert ran.stderr == (
        "setup: the package in /no/such/package is gone. Fix: take its line out of env/packages.txt, or put it back\n"
    )
    assert machine.calls("uv") == before


def test_an_unknown_purpose_names_the_known_ones(machine):
    ran = machine.setup("everything")
    assert ran.returncode == 2
    assert "one of python, report, test, package" in ran.stderr


def names(requirements):
    return {re.sub("[._]", "-", re.split(r"[<>=!\[; ]", line.strip())[0].lower()) for line in requirements}


def project_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return names(project["dependencies"]), names(project["optional-dependencies"]["dev"])


def lock_lines(file):
    return [line for line in (ROOT / "env" / file).read_text().splitlines() if re.match(r"[a-z0-9]", line)]


def test_the_lock_holds_every_dependency_and_so_do_its_hashes():
    needed, for_tests = project_dependencies()
    lines = lock_lines("requirements.lock")
    assert needed | for_tests <= names(lines)
    assert all(line.endswith("\\") for line in lines)  # each pin is continued by its hashes


@pytest.mark.parametrize("file", ["requirements.lock", "uv.lock.txt"])
def test_no_lock_names_a_host(file):
    assert "://" not in (ROOT / "env" / file).read_text()


def test_conda_has_every_dependency():
    needed, _ = project_dependencies()
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = names(entry for entry in listed if isinstance(entry, str))
    conda |= names(next(entry["pip"] for entry in listed if isinstance(entry, dict)))
    called = {
        "dask": "dask-core",
        "duckdb": "python-duckdb",
        "matplotlib": "matplotlib-base",
        "seaborn": "seaborn-base",
    }
    assert {called.get(name, name) for name in needed} <= conda


def test_conda_has_every_program_that_it_can_have():
    rows = [line.split() for line in (ROOT / "env" / "debian-packages.txt").read_text().splitlines()]
    wanted = {row[3] for row in rows if len(row) == 4 and row[0] in {"report", "test"}} - {"-"}
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert wanted <= names(entry for entry in listed if isinstance(entry, str))


def test_make_help_lists_the_targets():
    listed = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^  make ([a-z-]+) ", listed, flags=re.MULTILINE))
    assert {"report", "test", "lab", "lab-down", "jupyter", "bench", "site", "clean", "help", "setup"} <= targets


def dry_make(*words: str) -> subprocess.CompletedProcess[str]:
    # Under a make of its own, it would name the folder that it enters, and take that one's variables.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "-n", "report", *words]
    return subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["report", "REPORTS", "Profile", "INVENTRY"])
def test_a_variable_that_is_none_runs_nothing(name: str):
    ran = dry_make(f"{name}=x", "PROFILE=smoke")
    assert ran.returncode == 2
    assert f"there is no variable {name}; variables are written in capitals: REPORT=... PROFILE=..." in ran.stderr
    assert ran.stdout == ""


def test_variables_that_are_known_are_taken_whatever_they_hold():
    ran = dry_make(
        "REPORT=a", "PYTEST_ARGS=-k 'x or REPORTS=1' y=2", "MAKEFLAGS=-k", "BENCHBOOK_HOME=/tmp", "SHELL=/bin/sh"
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "benchbook report a --profile smoke" in ran.stdout
