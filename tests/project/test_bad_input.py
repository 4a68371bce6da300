"""Twelve things that a user gets wrong, by the command line: one paragraph, exit status 2, nothing measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import paramiko
import pytest
from database import Database
from kit import INVENTORY, PROFILE, REPORT, Home, inventory, paragraph


def told(home: Home, *arguments: str, **environment: str) -> str:
    """The one paragraph that the command ends with; it names what, and its fix, and no stack."""
    before = home.record_files()
    status, said = home.told(*home.report_words(*arguments), **environment)
    said = paragraph(said)
    assert status == 2, said
    assert "Traceback" not in said
    paragraphs = [line for line in said.splitlines() if "Fix: " in line]
    assert len(paragraphs) == 1, said
    assert home.record_files() == before
    assert home.processes("sysbench") == []
    return re.sub(r"\x1b\[[0-9;]*m", "", paragraphs[0])


def variant(home: Home, net: str, **changes: Any) -> str:
    """An inventory that differs from the running lab's; of the same name, so that the same lab serves it."""
    return str(home.write(f"variants/{INVENTORY}.yaml", inventory(net, **changes)))


def test_unknown_notebook_parameter(home: Home) -> None:
    said = told(home, "-p", "thraeds=[1]")
    assert f"{REPORT}.ipynb: parameter: there is no such parameter (got 'thraeds'). Fix: did you mean threads" in said
    assert "there are: " in said


def test_unknown_profile(home: Home) -> None:
    said = told(home, "--profile", "smok")
    assert (
        "env/profiles/smok.yaml: profile: no such profile (got 'smok'). "
        "Fix: did you mean smoke? use one of lab, paper, smoke, tiny" in said
    )


def test_inventory_with_a_missing_role(home: Home) -> None:
    hosts = {"executor": {"address": "127.0.90.1", "roles": ["client"]}}
    said = told(home, "--inventory", variant(home, "127.0.90", hosts=hosts))
    assert f"variants/{INVENTORY}.yaml: hosts.*.roles: no host has a role that this run needs (got 'tidb')" in said
    assert "Fix: add `tidb` to the roles" in said


def test_two_systems_on_one_port(home: Home) -> None:
    systems = {"tidb": {"port": 4000}, "mariadb": {"port": 4000}}
    said = told(home, "--inventory", variant(home, "127.0.90", systems=systems))
    assert (
        f"variants/{INVENTORY}.yaml: systems.mariadb.port: two systems on one port of host db1: tidb and mariadb"
        in said
    )
    assert "(got 4000). Fix: give mariadb another port" in said


def test_malformed_yaml(home: Home) -> None:
    path = home.write("broken.yaml", "lab: true\n hosts: {}\n")
    said = told(home, "--inventory", str(path))
    assert f"{path}: line 2, column 7: malformed YAML: mapping values are not allowed here" in said
    assert "(got ' hosts: {}'). Fix: mend the syntax at this place" in said


def test_thread_list_with_a_zero(home: Home) -> None:
    said = told(home, "-p", "threads=[50, 0]")
    assert f"{REPORT}.ipynb: threads.1: " in said
    assert "greater than or equal to 1 (got 0). Fix: " in said


def test_published_csv_with_a_broken_number(home: Home) -> None:
    path = home.path / "data" / "published" / REPORT / "oltp_insert.csv"
    text = path.read_text()
    number = str(re.findall(r"\d+\.\d+", text)[-1])
    path.write_text(text.replace(number, f"{number}k", 1))
    said = told(home)
    assert "oltp_insert.csv" in said
    assert f"{number}k" in said


# -- those that only a host can show ------------------------------------------------------------------------------


@pytest.mark.real
def test_unreachable_host(lab_home: Home, net: str) -> None:
    hosts = {"executor": {"address": f"{net}.1", "roles": ["client"]},
             "db1": {"address": f"{net}.99", "roles": ["tidb", "mysql"]}}  # fmt: skip
    path = variant(lab_home, net, lab=False, hosts=hosts)
    said = told(lab_home, "--inventory", path, "-p", "system=mariadb", BENCHBOOK_TEST="unreachable")
    assert f"{path}: hosts.db1: the host cannot be reached by SSH" in said
    assert f"(got '{net}.99:2222'). Fix: start it" in said


@pytest.mark.real
def test_wrong_host_key(lab_home: Home, net: str, tmp_path: Path) -> None:
    key = paramiko.ECDSAKey.generate()
    right = (lab_home.path / ".lab" / "known_hosts").read_text().splitlines()
    wrong = [line for line in right if f"{net}.11" not in line] + [
        f"[{net}.11]:2222 {key.get_name()} {key.get_base64()}"
    ]
    known = tmp_path / "known_hosts"
    known.write_text("\n".join(wrong) + "\n")
    ssh = {**inventory(net)["ssh"], "known_hosts": str(known)}
    said = told(lab_home, "--inventory", variant(lab_home, net, lab=False, ssh=ssh), "-p", "system=mariadb")
    assert "hosts.db1: the host key is not the one that is known" in said
    assert f"replace its line in {known}" in said


@pytest.mark.real
def test_wrong_database_password(lab_home: Home, net: str, database: Database) -> None:
    end = {"host": database.address, "port": database.port, "user": "bench", "password_env": "BENCH_PASSWORD"}
    path = variant(lab_home, net, endpoints={"cloud": end})
    said = told(lab_home, "--inventory", path, "-p", "system=endpoint:cloud", BENCH_PASSWORD="not-it-81c2")
    assert (
        f"{path}: endpoints.cloud.user: the database at {database.address}:3306 refuses the login (got 'bench')" in said
    )
    assert "password_env" in said
    assert "not-it-81c2" not in said


@pytest.mark.real
def test_missing_sysbench(lab_home: Home, net: str) -> None:
    path = variant(lab_home, net, programs={"sysbench": "/nowhere/sysbench"})
    said = told(lab_home, "--inventory", path, "-p", "system=mariadb")
    assert f"{path}: programs.sysbench: sysbench is not on host executor (got '/nowhere/sysbench')" in said
    assert "sudo apt-get install sysbench" in said


@pytest.mark.real
def test_too_little_disk(lab_home: Home) -> None:
    path = lab_home.write("variants/huge.yaml", {**PROFILE, "disk_gb": 1_000_000})
    said = told(lab_home, "--profile", str(path), "-p", "system=mariadb")
    assert f"{INVENTORY}.yaml: hosts." in said
    assert ".workdir: too little disk on host " in said
    assert "the run needs 1000000.0 GB" in said
