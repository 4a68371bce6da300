"""A MariaDB that the kit did not start: what an endpoint is reached at."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pymysql
from kit import until

PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Database:
    """Where it listens; account `bench` may do everything."""

    address: str
    port: int
    password: str


@contextmanager
def running(
    folder: Path, address: str, port: int = 3306, password: str = "an endpoint's password", options: Sequence[str] = ()
) -> Iterator[Database]:
    """A server on its own data folder, ended afterwards."""
    made = Database(address, port, password)
    data, login = folder / "data", f"--user={getpass.getuser()}"
    # In a shared one two that are set up at once fail: "Unknown table 'mysql.tmp_user_sys'".
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    install, server = (str(shutil.which(name, path=PATH)) for name in ("mariadb-install-db", "mariadbd"))
    made_data = subprocess.run(
        [install, "--no-defaults", f"--datadir={data}", f"--tmpdir={temporary}", login, "--skip-test-db",
         "--auth-root-authentication-method=normal", "--innodb-log-file-size=8M"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made_data.returncode == 0, made_data.stdout + made_data.stderr
    quoted = password.replace("'", "''")
    accounts = folder / "accounts.sql"
    accounts.write_text(f"CREATE USER 'bench'@'%' IDENTIFIED BY '{quoted}';\nGRANT ALL ON *.* TO 'bench'@'%';\n")
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [server, "--no-defaults", f"--datadir={data}", f"--tmpdir={temporary}", login, f"--bind-address={address}",
         f"--port={port}",
         "--socket=s.sock", "--pid-file=pid", f"--init-file={accounts}", "--innodb-buffer-pool-size=16M",
         "--innodb-log-file-size=8M", "--skip-name-resolve", "--performance-schema=OFF", *options],
        stdout=log, stderr=log,
    )  # fmt: skip
    try:
        until(lambda: process.poll() is not None or _serves(made), "MariaDB serves")
        assert process.poll() is None, (folder / "log").read_text()
        yield made
    finally:
        process.kill()  # nothing in it is kept
        process.wait()
        log.close()


def _serves(at: Database) -> bool:
    try:
        pymysql.connect(host=at.address, port=at.port, user="bench", password=at.password).close()
    except pymysql.MySQLError:
        return False
    return True
