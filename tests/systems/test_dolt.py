"""How Dolt is started, with a stand-in for its program: what it says of accounts that it cannot make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kit import Home, inventory

from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.systems import dolt

# It prints the statement that fails, as Dolt 1.59.10 does.
PROGRAM = """\
#!/bin/sh
[ "$1" = --data-dir ] || exec echo "serves by $3"
statement=$(grep "$FAILS" "$5") || exit 0
echo "Processed 0.0% of the fileerror on line 1 for query $statement: String is too long" >&2
exit 1
"""


@pytest.mark.parametrize(
    ("fails", "status", "said"),
    [
        ("CREATE USER", 1, "for query CREATE USER IF NOT EXISTS 'bench'@'%'"),
        ("ALTER USER", 1, "dolt cannot set the password"),
        ("nothing", 0, "serves by server.yaml"),
    ],
)
def test_a_password_that_dolt_cannot_set_is_not_printed(
    home: Home, net: str, tmp_path: Path, fails: str, status: int, said: str
) -> None:
    home.write("password", "it's secret").chmod(0o600)
    systems = {"dolt": {"user": "bench", "password_file": "password"}}
    mine = load_inventory(str(home.write("mine.yaml", inventory(net, systems=systems))))
    with Session(mine, []) as session:
        files = dolt.Dolt(session, load_profile("tiny"))._accounts()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "dolt").write_text(PROGRAM)
    (tmp_path / "dolt").chmod(0o700)
    argv = ["sh", "-c", dolt._STARTS, str(tmp_path / "dolt"), "data"]
    done = subprocess.run(argv, cwd=tmp_path, env={"FAILS": fails}, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr


class Unfinished(dolt.Dolt):
    """Derived from a system that is built, and made of nothing itself."""

    builds = ()


def test_a_system_that_does_not_say_where_its_program_is_is_named(home: Home, net: str) -> None:
    hosts = {"db1": {"address": f"{net}.11", "roles": ["dolt"]}}
    mine = load_inventory(str(home.write("mine.yaml", inventory(net, hosts=hosts, systems={}))))
    said = "mine.yaml: systems.dolt: Unfinished does not say how its program comes to the hosts. Fix: give it `builds`"
    with pytest.raises(BadInput, match=said):
        Unfinished(Session(mine, mine.hosts), load_profile("tiny")).install()
