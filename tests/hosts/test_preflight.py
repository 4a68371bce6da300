"""What is read from a host's first answer: does logind end what a login leaves behind, and who is let off."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchbook.hosts.logout import kills_at_logout
from kit import TESTS

from benchbook.errors import HostUnusable
from benchbook.hosts import login_shell
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.preflight import check, script

MAIN = "/etc/systemd/logind.conf"
# What `loginctl show-user -p ...` prints of the manager itself, on Debian 12 and with the setting changed.
DEBIAN = [("", "KillUserProcesses=no"), ("", "KillOnlyUsers="), ("", "KillExcludeUsers=root")]
CHANGED = [("", "KillUserProcesses=yes"), ("", "KillOnlyUsers="), ("", "KillExcludeUsers=root")]


@pytest.mark.parametrize(
    ("said", "user", "killed"),
    [
        (DEBIAN, "bench", False),
        (CHANGED, "bench", True),
        (CHANGED, "root", False),
        ([*CHANGED[:2], ("", "KillExcludeUsers=root bench")], "bench", False),
        ([("", "KillUserProcesses=yes"), ("", "KillOnlyUsers=guest"), ("", "KillExcludeUsers=root")], "bench", False),
        ([], "bench", False),
        ([(MAIN, "KillUserProcesses=1")], "bench", True),
        ([(MAIN, "KillUserProcesses = true")], "bench", True),
        ([(MAIN, "KillUserProcesses=yes"), (MAIN, "KillExcludeUsers=")], "root", True),
        # Drop-ins count more than the main file, later names more than earlier ones, wherever they stand, ...
        ([(f"{MAIN}.d/10-a.conf", "KillUserProcesses=no"), (MAIN, "KillUserProcesses=yes")], "bench", False),
        (
            [
                (f"{MAIN}.d/10-a.conf", "KillUserProcesses=no"),
                ("/usr/lib/systemd/logind.conf.d/90-z.conf", "KillUserProcesses=yes"),
            ],
            "bench",
            True,
        ),
        # ... and of two with one name the one in /etc is read, the other not at all.
        (
            [
                (f"{MAIN}.d/50-x.conf", "KillExcludeUsers=root bench"),
                ("/usr/lib/systemd/logind.conf.d/50-x.conf", "KillUserProcesses=yes"),
            ],
            "bench",
            False,
        ),
    ],
)
def test_whose_processes_end_at_logout(said: list[tuple[str, str]], user: str, killed: bool) -> None:
    assert kills_at_logout(said, user) is killed


LOGIND_CONF = """\
#  This file is part of systemd.
[Login]
#NAutoVTs=6
#ReserveVT=6
KillUserProcesses=yes
#KillOnlyUsers=
#KillExcludeUsers=root
#InhibitDelayMaxSec=5
"""


@pytest.mark.parametrize(("user", "refused"), [("root", False), ("bench", True)])
def test_a_host_on_which_no_job_would_live(user: str, refused: bool, tmp_path: Path) -> None:
    """`look.sh` itself, with a logind.conf as Debian writes it and one line changed, and no loginctl."""
    conf = tmp_path / "logind.conf"
    conf.write_text(LOGIND_CONF)
    text = script(str(tmp_path / "work"), shared=False).replace("/etc/systemd/logind.conf ", f"{conf} ")
    text = text.replace("grep -qs 'session-[^/]*\\.scope' /proc/self/cgroup", "true").replace("loginctl", "false")
    text = text.replace("$(id -un)", user)
    said = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    seen = Seen.parse(said.stdout)
    assert (seen.step, seen.root, seen.logind) == (
        "good",
        str(tmp_path / "work"),
        [(str(conf), "KillUserProcesses=yes")],
    )
    left = sorted(path.name for path in (tmp_path / "work").iterdir())
    assert left == [".benchbook", "jobs"], "the folder that every session needs, and nothing else"
    one = Inventory.model_validate({"name": "a", "hosts": {"db": {"address": "a.invalid", "roles": ["client"]}}})
    if not refused:
        return check(one, "db", seen)
    with pytest.raises(Exception, match=r"hosts\.db: this host ends .*Fix: put `KillExcludeUsers=root bench` into its"):
        check(one, "db", seen)
    return None


def test_a_folder_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """As /usr/local, in which the kit would remove jobs/ and mariadb/data/; a mounted disk has its lost+found."""
    one = Inventory.model_validate({"name": "a", "hosts": {"db": {"address": "a.invalid", "roles": ["client"]}}})

    def seen() -> Seen:
        words = ["sh", "-c", script(str(tmp_path / "work"), shared=False)]
        return Seen.parse(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    (tmp_path / "work" / "jobs").mkdir(parents=True)
    with pytest.raises(HostUnusable, match=r"hosts\.db\.workdir: this folder holds files that are not the kit's"):
        check(one, "db", seen())
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["jobs"]
    (tmp_path / "work" / "jobs").rename(tmp_path / "work" / "lost+found")
    check(one, "db", seen())
    (tmp_path / "work" / "mariadb").mkdir()
    check(one, "db", seen())


def test_behind_a_script_of_the_name_the_interpreter_itself_is_found(tmp_path: Path) -> None:
    shim, real = tmp_path / "shims" / "python3", os.path.realpath(sys.executable)
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    shim.chmod(0o755)
    path = {"PATH": f"{shim.parent}:{os.environ['PATH']}"}
    words = ["sh", "-c", script(str(tmp_path / "work"), shared=False)]
    seen = Seen.parse(subprocess.run(words, env=path, capture_output=True, text=True, check=True).stdout)
    assert (seen.python, seen.interpreter) == ("{}.{}".format(*sys.version_info), real)


@pytest.mark.parametrize(
    "command",
    [
        "echo plain",
        "echo 'it''s'; false",
        "printf '%s\\n' \"a!b\" 'two\nlines' é",
        "exit 3",
        "echo $0 $#",
        "echo 'é' $0",
    ],
)
@pytest.mark.parametrize(("shell", "clears"), [("sh", False), ("bash", False), ("bash", True)])
def test_a_command_means_the_same_by_way_of_a_login_shell(shell: str, clears: bool, command: str) -> None:
    direct = subprocess.run(["sh", "-c", command, "sh"], capture_output=True, text=True, check=False)
    words = [shell, "-c", login_shell.words(command, clears=clears)]
    by_way = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (login_shell.said(by_way.stdout), by_way.returncode) == (direct.stdout, direct.returncode)
    assert login_shell.ran(by_way.stdout)
    assert login_shell.said("what a shell said that ran nothing") == "what a shell said that ran nothing"


CLEARS = [shell for shell in ("bash", "zsh", "ksh93", "mksh", "yash") if shutil.which(shell)]
REFUSES = [[shell] for shell in ("dash", "tcsh", "fish") if shutil.which(shell)]


@pytest.mark.parametrize("shell", CLEARS)
@pytest.mark.parametrize("command", ["env", "# \\\nenv"])
def test_a_shell_that_empties_the_environment_itself_leaves_the_same_as_env_does(shell: str, command: str) -> None:
    login = {"HOME": "/a b", "USER": "it's $USER", "PATH": os.environ["PATH"], "KEPT": '"kept" `id`', "LOST": "lost"}
    lines = (login_shell.words(command, ["KEPT"], clears=clears) for clears in (False, True))
    said = [
        subprocess.run([shell, "-c", line], env=login, capture_output=True, text=True, check=True).stdout
        for line in lines
    ]
    # Some shells tell what they run the path of it.
    lines_of = (login_shell.said(one).splitlines() for one in said)
    by_env, by_itself = (sorted(line for line in lines if not line.startswith("_=")) for lines in lines_of)
    assert by_itself == by_env
    path = f"PATH={os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
    assert {"HOME=/a b", "USER=it's $USER", path, "LC_ALL=C", 'KEPT="kept" `id`'} <= set(by_env)
    assert "LOST=lost" not in by_env


OTHER_SHELL = [sys.executable, str(TESTS / "helpers" / "shells" / "other_shell.py")]


@pytest.mark.parametrize("shell", [*REFUSES, [*OTHER_SHELL, "csh"], [*OTHER_SHELL, "fish"]])
@pytest.mark.parametrize("command", ["touch {}", "touch {}\ntouch {}", "echo 'a!b'; touch {}"])
def test_a_shell_that_does_not_runs_nothing(shell: list[str], command: str, tmp_path: Path) -> None:
    done = tmp_path / "done"
    line = login_shell.words(command.replace("{}", str(done)), clears=True)
    said = subprocess.run([*shell, "-c", line], capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert not login_shell.ran(said.stdout)
    assert not done.exists()


@pytest.mark.parametrize(
    "argv",
    [["echo", "plain"], ["printf", "%s|", "it's", "a!b", "two\nlines", "é", "$HOME"], ["false"], ["no-such-program"]],
)
def test_a_program_means_the_same_by_way_of_a_login_shell(argv: list[str]) -> None:
    command = f"exec {shlex.join(argv)}"
    direct = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    by_way = subprocess.run(["sh", "-c", login_shell.program(argv)], capture_output=True, text=True, check=False)
    assert (login_shell.said(by_way.stdout), by_way.returncode) == (direct.stdout, direct.returncode)
    assert login_shell.ran(by_way.stdout)
    assert login_shell.ran(by_way.stderr)


# -- the stand-ins for shells that are not installed --------------------------------------------------------------

LINES = r"""
exec env -i A=1 /bin/echo 'a b' "c"
exec -c sh -c 'echo a b' sh "$HOME"
/bin/echo 'a!b'
/bin/echo 'a\!b'
/bin/echo "$HOME:/x"
/bin/echo "$HOME"':/x'
/bin/echo "$(id)"
/bin/echo 'a\\b'
/bin/echo 'a\b'
/bin/echo 'it'"'"'s'
/bin/echo "${HOME}"
/bin/echo 'open
/bin/echo '\047'
/bin/echo a=b -x /y
""".strip().splitlines()


@pytest.mark.parametrize("kind", ["csh", "fish"])
def test_a_stand_in_for_a_shell_reads_as_the_shell_does(kind: str) -> None:
    real = shutil.which({"csh": "tcsh"}.get(kind, kind))
    if real is None:
        pytest.skip(f"{kind} is not installed: nothing to compare the stand-in with")
    stand_in = [sys.executable, str(TESTS / "helpers" / "shells" / "other_shell.py"), kind]
    for line in [*LINES, "/bin/echo 'two\nlines'"]:
        one, other = (
            subprocess.run([*words, "-c", line], check=False, capture_output=True, text=True)
            for words in ([real], stand_in)
        )
        known = "not known to this program" not in other.stderr
        assert not known or one.stdout == other.stdout, f"{line}: {one.stdout} {one.stderr}"
