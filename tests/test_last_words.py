"""Why a server ended, from what it printed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from benchbook.hosts.jobs import Ended, Job
from benchbook.systems.life_signs import died, last_words

PANIC = """[2026/11/21 07:00:01.123 +00:00] [INFO] [server.go:247] ["server is running MySQL protocol"]
fatal error: concurrent map iteration and map write

goroutine 5123 [running]:
github.com/pingcap/tidb/server.(*Server).ShowProcessList(0xc0005f6000)
created by github.com/pingcap/tidb/server.(*Server).startNetworkListener
\t/root/go/pkg/mod/github.com/pingcap/tidb/server/server.go:481 +0x58b
"""


def test_a_go_program_s_panic_is_named_and_not_the_end_of_its_trace() -> None:
    found = last_words(PANIC)
    assert found.startswith("fatal error: concurrent map iteration and map write | goroutine 5123 [running]: | github")
    assert "server is running" not in found


def test_other_programs_are_quoted_with_their_last_lines() -> None:
    assert last_words("\n".join(f"line {i}" for i in range(9)) + "\n\n") == "line 4 | line 5 | line 6 | line 7 | line 8"
    assert last_words(" \n") == ""


class Silent:
    """A job that printed nothing."""

    host = SimpleNamespace()

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
