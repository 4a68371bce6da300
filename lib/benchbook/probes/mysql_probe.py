"""The probe of a server that speaks the MySQL protocol: its status counters, asked over the protocol itself."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

import pymysql

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.hosts.jobs import Command, remote_program
from benchbook.probes.metric import Metric, counter, level
from benchbook.probes.probe import LONGEST_S, Probe

_STATEMENTS = "select insert update delete replace commit rollback begin".split()
_ROWS = "inserted updated read deleted".split()
_PLAIN = """
    Questions Aborted_clients Slow_queries Handler_commit Handler_write Handler_update Handler_delete
    Innodb_row_lock_waits Innodb_data_fsyncs Innodb_buffer_pool_reads Innodb_buffer_pool_read_requests
    Innodb_buffer_pool_wait_free Innodb_deadlocks Binlog_commits
""".split()
_BYTES = "Bytes_received Bytes_sent Innodb_data_written Innodb_os_log_written Binlog_bytes_written".split()


class MysqlProbe(Probe):
    """What `SHOW GLOBAL STATUS` says once a second (remote/sample_mysql.py); a server gives those that it has."""

    name = "mysql"
    metrics: ClassVar[Mapping[str, Metric]] = {
        **{f"Com_{statement}": counter() for statement in _STATEMENTS},
        **{f"Innodb_rows_{what}": counter() for what in _ROWS},
        **dict.fromkeys(_PLAIN, counter()),
        **dict.fromkeys(_BYTES, counter("B/s")),
        # Milliseconds that all sessions together have waited.
        "Innodb_row_lock_time": counter("ms/s"),
        "Threads_running": level("threads"),
        "Threads_connected": level("threads"),
        # How long the server takes to answer this very question.
        "answer_ms": level("ms"),
    }

    def command(self) -> Command:
        end = self.endpoint
        if end is None:
            raise BadInput("this probe watches a server", key="probes", value=self.name, fix="let a system name it")
        program = self.host.push(remote_program("probes", "sample_mysql.py"))
        library = self.host.push(client_library())
        argv = ["python3", program, "{job}/samples", end.address, end.port, end.user, "{job}/password", library]
        return Command(argv, timeout_s=LONGEST_S, secrets={"password": end.password})


@cache
def client_library() -> Path:
    """PyMySQL, which is pure Python, as a zip to push: hosts need nothing but python3."""
    source = Path(pymysql.__file__).parent
    files = sorted(source.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    target = paths.cache_dir() / f"pymysql-{digest}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(zipfile.ZipInfo(f"pymysql/{path.relative_to(source)}"), path.read_bytes())
        partial.rename(target)
    return target
