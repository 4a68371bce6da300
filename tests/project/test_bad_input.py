"""What a user gets wrong that only a host can show: one paragraph, exit status 2, nothing measured.

What the files show is in test_refused_input.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import paramiko
import pytest
from database import Database
from kit import INVENTORY, PROFILE, Home, inventory, paragraph


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
    known = tmp_path / "known_hosts"
    right = (lab_home.path / ".lab" / "known_hosts").read_text().replace("*", f"[{net}.1]:2222")
    known.write_text(f"{right}[{net}.11]:2222 {key.get_name()} {key.get_base64()}\n")
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
