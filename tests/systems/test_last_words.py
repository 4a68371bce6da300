"""Why a server ended, from what it printed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from benchbook.hosts.agent import Ended, Job
from benchbook.systems.health import died, last_words

PANIC = """[2026/11/21 07:00:01.123 +00:00] [INFO] [server.go:247] ["server is running MySQL protocol"]
fatal error: concurrent map iteration and map write

goroutine 5123 [running]:
github.com/pingcap/tidb/server.(*Server).ShowProcessList(0xc0005f6000)
created by github.com/pingcap/tidb/server.(*Server).startNetworkListener
\t/root/go/pkg/mod/github.com/pingcap/tidb/server/server.go:481 +0x58b
"""


# What mariadbd 10.11.19 printed when its disk had filled; of 102 lines that differ in their time alone, two.
CRASH = """2026-11-23  4:41:02 0 [Note] mariadbd: ready for connections.
Version: '10.11.19-MariaDB-0+deb12u1-log'  socket: '/tmp/mdb.sock'  port: 0  Debian 12
2026-11-23  4:41:07 6 [ERROR] InnoDB: preallocating 2097152 bytes for file ./sb/t.ibd failed with error 28
2026-11-23  4:41:08 6 [ERROR] InnoDB: preallocating 2097152 bytes for file ./sb/t.ibd failed with error 28
2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in rollback.
261123  4:41:12 [ERROR] mariadbd got signal 6 ;
Sorry, we probably made a mistake, and this is a bug.

Attempting backtrace. Include this in the bug report.
mariadbd(my_print_stacktrace+0x2e)[0x55f03225087e]
mariadbd(handle_fatal_signal+0x1c7)[0x55f031dcb057]
libc_sigaction.c:0(__restore_rt)[0x7f6145c5a050]
"""


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        # A Go program's panic is named, and not the end of its trace.
        (
            PANIC,
            "fatal error: concurrent map iteration and map write | goroutine 5123 [running]: | "
            "github.com/pingcap/tidb/server.(*Server).ShowProcessList(0xc0005f6000) | created by "
            "github.com/pingcap/tidb/server.(*Server).startNetworkListener | "
            "/root/go/pkg/mod/github.com/pingcap/tidb/server/server.go:481 +0x58b",
        ),
        # Of a database server that crashed the errors are, each once, and not its trace.
        (
            CRASH,
            "2026-11-23  4:41:07 6 [ERROR] InnoDB: preallocating 2097152 bytes for file ./sb/t.ibd failed with error 28"
            " | 2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in rollback."
            " | 261123  4:41:12 [ERROR] mariadbd got signal 6 ;",
        ),
        ("\n".join(f"line {i}" for i in range(9)) + "\n\n", "line 4 | line 5 | line 6 | line 7 | line 8"),
        (" \n", ""),
        # A line that holds a whole configuration is cut.
        (
            f'[INFO] ["loaded config"] [config="{"x" * 9000}"]\n[FATAL] no such path',
            f'[INFO] ["loaded config"] [config="{"x" * 466}... (9,036 characters) | [FATAL] no such path',
        ),
    ],
)
def test_why_a_program_ended_of_all_that_it_printed(printed: str, said: str) -> None:
    assert last_words(printed) == said


def test_a_server_that_died_on_a_full_disk_is_said_to() -> None:
    job = Silent()
    job.host = SimpleNamespace(name="db1", root="/x", disk_problem=lambda: "no space is left on the disk of db1")
    found = died("mariadb on db1", cast(Job, job), Ended("exited", None, 6, 1, 2))
    assert str(found) == "mariadb on db1 has died (signal 6): no space is left on the disk of db1: no word"


class Silent:
    """A job that printed nothing."""

    host = SimpleNamespace(name="db1", root="/x", disk_problem=lambda: None)

    def stdout(self) -> bytes:
        return b""

    def stderr(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended("exited", 0, None, 1, 2), "mariadb on db1 has died (status 0)"),
        (Ended("exited", None, 9, 1, 2), "mariadb on db1 has died (signal 9)"),
        (Ended("lease", 0, None, 1, 2), "mariadb on db1 was ended by its host: its lease had run out, for no driver"),
        (Ended("timeout", 0, None, 1, 2), "mariadb on db1 was ended by its host: it took longer than it may"),
        (Ended("stopped", 0, None, 1, 2), "mariadb on db1 was stopped from outside"),
        (Ended("unsupervised", None, None, 0, 0), "the supervisor of mariadb on db1 was killed"),
        (Ended("no space", None, None, 0, 0), "mariadb on db1 has ended: no space is left on its host's disk"),
        (Ended("read-only", None, None, 0, 0), "mariadb on db1 has ended: its host's disk is read-only"),
    ],
)
def test_a_server_s_end_is_named_for_what_it_was(ended: Ended, said: str) -> None:
    assert str(died("mariadb on db1", cast(Job, Silent()), ended)).startswith(said)
