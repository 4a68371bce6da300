"""What is read from a host's first answer: does logind end what a login leaves behind, and who is let off."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from kit import TESTS

from benchbook.errors import HostUnusable
from benchbook.hosts import command_line
from benchbook.hosts.host import Host
from benchbook.hosts.host_facts import check_address
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.preflight import HostProbe, check, kills_at_logout, script

# What `loginctl show-user -p ...` prints of the manager itself, on Debian 12 and with the setting changed.
DEBIAN = {"KillUserProcesses": "no", "KillOnlyUsers": "", "KillExcludeUsers": "root"}
CHANGED = {**DEBIAN, "KillUserProcesses": "yes"}


@pytest.mark.parametrize(
    ("said", "user", "killed"),
    [
        (DEBIAN, "bench", False),
        (CHANGED, "bench", True),
        (CHANGED, "root", False),
        ({**CHANGED, "KillExcludeUsers": "root bench"}, "bench", False),
        ({**CHANGED, "KillOnlyUsers": "guest"}, "bench", False),
        ({}, "bench", False),
    ],
)
def test_whose_processes_end_at_logout(said: dict[str, str], user: str, killed: bool) -> None:
    assert kills_at_logout(said, user) is killed


@pytest.mark.parametrize(("user", "refused"), [("root", False), ("bench", True)])
def test_a_host_on_which_no_job_would_live(user: str, refused: bool, tmp_path: Path) -> None:
    """The script itself, with a loginctl that says what it does where one line of logind.conf is changed."""
    loginctl = tmp_path / "loginctl"
    loginctl.write_text("#!/bin/sh\nprintf 'KillUserProcesses=yes\\nKillOnlyUsers=\\nKillExcludeUsers=root\\n'\n")
    loginctl.chmod(0o755)
    text = script(str(tmp_path / "work"), shared=False).replace("loginctl", str(loginctl))
    text = text.replace("grep -qs 'session-[^/]*\\.scope' /proc/self/cgroup", "true").replace("$(id -un)", user)
    said = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    seen = HostProbe.parse(said.stdout)
    assert (seen.step, seen.root, seen.logind) == ("good", str(tmp_path / "work"), CHANGED)
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

    def seen() -> HostProbe:
        words = ["sh", "-c", script(str(tmp_path / "work"), shared=False)]
        return HostProbe.parse(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    (tmp_path / "work" / "jobs").mkdir(parents=True)
    with pytest.raises(HostUnusable, match=r"hosts\.db\.workdir: this folder holds other files, which Benchbook would"):
        check(one, "db", seen())
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["jobs"]
    (tmp_path / "work" / "jobs").rename(tmp_path / "work" / "lost+found")
    check(one, "db", seen())
    (tmp_path / "work" / "mariadb").mkdir()
    check(one, "db", seen())


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
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_command_means_the_same_by_way_of_a_login_shell(shell: str, command: str) -> None:
    direct = subprocess.run(["sh", "-c", command, "sh"], capture_output=True, text=True, check=False)
    words = [shell, "-c", command_line.login_line(command)]
    by_way = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (command_line.own_output(by_way.stdout), by_way.returncode) == (direct.stdout, direct.returncode)
    assert command_line.has_run(by_way.stdout)
    assert command_line.own_output("what a shell said that ran nothing") == "what a shell said that ran nothing"
    assert command_line.login_output(f"#? {by_way.stdout}") == "#? "


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


def test_a_folder_that_takes_no_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    """As on a disk mounted again for reading; root may write anywhere, but not into a folder as into a file."""
    (tmp_path / "work" / ".benchbook").mkdir(parents=True)
    words = ["sh", "-c", script(str(tmp_path / "work"), shared=False)]
    seen = HostProbe.parse(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    one = Inventory.model_validate({"name": "a", "hosts": {"db": {"address": "a.invalid", "roles": ["client"]}}})
    with pytest.raises(HostUnusable, match=r"hosts\.db\.workdir: .*Is a directory.* Fix: set hosts\.db\.workdir"):
        check(one, "db", seen)
    with pytest.raises(HostUnusable, match=r"Is a directory.* Fix: move the project to a folder that \S+ may write to"):
        check(one.model_copy(update={"lab": True}), "db", seen)


class Asked:
    """A host to which SSH came at `own_address`; what it runs, this machine runs."""

    python = sys.executable

    def __init__(self, mine: Inventory, name: str, own_address: str) -> None:
        self.inventory, self.name, self.host, self.own_address = mine, name, mine.hosts[name], own_address
        self.address = self.host.address

    def push(self, file: Path) -> str:
        return str(file)

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, check=True)

    def probe(self) -> SimpleNamespace:
        return SimpleNamespace(own_address=self.own_address)


@pytest.mark.parametrize(
    ("roles", "host", "came_to", "said"),
    [
        (["mysql"], {"address": "127.0.0.1"}, "127.0.0.1", ""),
        (["mysql"], {"address": "localhost"}, "127.0.0.1", ""),
        # An alias without HostName, reached by a ProxyCommand: nobody knows it as a name.
        (
            ["mysql", "client"],
            {"address": "alias.invalid", "ssh_address": "alias.invalid"},
            "198.51.100.7",
            r"hosts\.db1\.address: servers on host db1 cannot listen on this address: "
            r".*(?:not known|resolution).* \(got 'alias\.invalid'\)\. "
            r"Fix: write `address: 198\.51\.100\.7` and `ssh_address: alias\.invalid`$",
        ),
        # A public address that a gateway translates; a tunnel, which ends at the host's own loopback.
        (["tidb"], {"address": "192.0.2.1"}, "10.0.0.5", r"Cannot assign.*Fix: write `address: 10\.0\.0\.5` and"),
        (["tidb"], {"address": "192.0.2.1"}, "127.0.0.1", r"Fix: write `address: AN ADDRESS OF ITS OWN` and"),
        # Who only drives loads binds to nothing, and DTM listens on all addresses.
        (["client"], {"address": "192.0.2.1"}, "10.0.0.5", ""),
        (["dtm"], {"address": "192.0.2.1"}, "10.0.0.5", ""),
    ],
)
def test_an_address_that_servers_are_to_bind_to_and_their_host_does_not_have_is_refused_with_its_own(
    roles: list[str], host: dict[str, str], came_to: str, said: str
) -> None:
    mine = Inventory.model_validate({"name": "mine", "lab": False, "hosts": {"db1": {**host, "roles": roles}}})
    with pytest.raises(HostUnusable, match=said) if said else nullcontext():
        check_address(cast(Host, Asked(mine, "db1", came_to)))
