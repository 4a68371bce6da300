"""The files that DM is given, read back as TOML and YAML; DM's password cipher against dm-ctl's own output."""

from __future__ import annotations

import base64
import os
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from pydantic import ValidationError

from benchbook import paths
from benchbook.errors import HostUnusable
from benchbook.hosts.endpoint import Endpoint
from benchbook.systems import dm_config as dm
from benchbook.systems.dm_server import DM

NASTY = "p\"w\\ #'{{x}}Ä%\n"
UPSTREAM = Endpoint("127.0.0.8", 3306, "dm", NASTY)
TARGET = Endpoint("127.0.0.9", 4000, "root", "")
QUIET = paths.env_dir() / "systems" / "dm" / "mydumper-quiet"


def task(**levels: Any) -> dm.Task:
    return dm.Task(**{"mode": "all", "database": "dm_benchmark", "target": TARGET, "folder": "/srv/dm", **levels})


def test_a_task_carries_the_levels_of_its_trial() -> None:
    text = dm.task_file(
        task(
            mode="full",
            dump_program="/opt/my dumper",
            dump_threads=32,
            rows=320_000,
            pool_size=64,
            worker_count=1024,
        )
    )
    said = yaml.safe_load(text)
    assert said["name"] == "benchbook"
    assert said["task-mode"] == "full"
    assert said["mysql-instances"] == [
        {
            "source-id": "mysql-1",
            "black-white-list": "databases",
            "mydumper-config-name": "dump",
            "loader-config-name": "load",
            "syncer-config-name": "sync",
        }
    ]
    assert said["mydumpers"]["dump"] == {
        "mydumper-path": "/opt/my dumper",
        "threads": 32,
        "chunk-filesize": 64,
        "skip-tz-utc": True,
        "extra-args": r"-s 1000000 -r 320000 -B dm_benchmark --regex '^dm_benchmark\.sbtest.*'",
    }
    assert said["loaders"]["load"] == {"pool-size": 64, "dir": "/srv/dm/dumped_data"}
    assert said["syncers"]["sync"] == {
        "worker-count": 1024,
        "batch": 100,
        "max-retry": 20,
        "checkpoint-flush-interval": 30,
        "safe-mode": False,
    }
    assert said["target-database"] == {"host": "127.0.0.9", "port": 4000, "user": "root", "password": ""}
    assert said["enable-heartbeat"] is False


@pytest.mark.parametrize(
    "levels",
    [
        {"mode": "dump"},
        {"folder": "relative"},
        {"name": "a b"},
        {"pool_size": 0},
        {"workers": 3},
    ],
)
def test_a_task_that_dm_would_misread_is_refused(levels: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        task(**levels)


def worker(*, gtid: bool = False, redacted: bool = False) -> dict[str, Any]:
    flavor = "mysql" if gtid else "mariadb"
    values = {"worker_address": "127.0.0.6:8262", "folder": "/srv/d m", "flavor": flavor, "gtid": gtid}
    return tomllib.loads(dm.render("dm-worker.toml", redacted=redacted, upstream=UPSTREAM, **values))


def test_the_worker_knows_its_upstream_and_does_not_resume_by_itself() -> None:
    said = worker()
    assert said["from"] | {"password": ""} == {"host": "127.0.0.8", "port": 3306, "user": "dm", "password": ""}
    assert said["relay-dir"] == "/srv/d m/relay_log"
    assert (said["flavor"], said["source-id"], said["server-id"]) == ("mariadb", "mysql-1", 101)
    assert said["enable-gtid"] is False
    assert worker(gtid=True)["enable-gtid"] is True
    assert said["checker"] == {"check-enable": False}


def test_the_master_deploys_the_worker() -> None:
    values = {"master_address": "127.0.0.7:8261", "worker_address": "127.0.0.6:8262", "folder": "/srv/dm"}
    said = tomllib.loads(dm.render("dm-master.toml", **values))
    assert said["deploy"] == [{"source-id": "mysql-1", "dm-worker": "127.0.0.6:8262"}]
    assert said["master-addr"] == "127.0.0.7:8261"


def decrypted(text: str) -> str:
    """As DM does it (pkg/encrypt/encrypt.go): AES-256-CFB, in base64 the iv, an "@" and the password."""
    raw = base64.b64decode(text)
    decryptor = Cipher(algorithms.AES256(dm._KEY), dm.CFB(raw[:16])).decryptor()
    return (decryptor.update(raw[17:]) + decryptor.finalize()).decode()


def test_no_password_is_written_plain_and_none_at_all_for_a_record() -> None:
    assert decrypted(worker()["from"]["password"]) == NASTY
    assert worker(redacted=True)["from"]["password"] == "***"
    assert NASTY not in repr(UPSTREAM)


def test_the_cipher_is_that_of_dm_ctl() -> None:
    """`dm-ctl -encrypt 'pw-Äx1'` printed this."""
    assert decrypted("p3w/WnZJWIgMU8dv1QMpUkDjlB4VjUpo") == "pw-Äx1"
    assert dm.encrypted("") == ""
    assert dm.encrypted("same") != dm.encrypted("same")


def test_mydumper_gets_its_password_by_the_environment(tmp_path: Path) -> None:
    fake = tmp_path / "mydumper"
    fake.write_text('#!/bin/sh\nprintf "%s|" "$MYSQL_PWD" "$@"\nexit 3\n')
    fake.chmod(0o755)
    argv = ["--user", "dm", "--regex", "^a b\\.c.*", "-s", "100", "--password", "s e'c$x"]
    done = subprocess.run(
        [QUIET, *argv], env={**os.environ, "BENCHBOOK_MYDUMPER": str(fake)}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "s e'c$x|--user|dm|--regex|^a b\\.c.*|-s|100|"
    assert done.returncode == 3


def test_a_password_that_mydumper_cannot_read_is_refused_before_anything_is_installed() -> None:
    session: Any = SimpleNamespace(inventory=SimpleNamespace(file="hosts.yaml"))
    for ends in ((UPSTREAM, TARGET), (TARGET, UPSTREAM)):
        with pytest.raises(HostUnusable, match=r"hosts\.yaml: systems\.\*\.password: DM cannot log in"):
            DM(session, *ends)
    assert DM(session, TARGET, TARGET).target == TARGET
