"""Who is named when a load fails: the server that has died, is dying, or does not answer, before who noticed it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.errors import BenchbookError, ConnectionLost, RemoteFailed, SystemFailed, WorkloadFailed
from benchbook.hosts.jobs import Command, Ended, Job
from benchbook.hosts.remote_host import RemoteHost
from benchbook.systems import kept_servers
from benchbook.systems.blame import blaming
from benchbook.systems.kept_servers import KeptServers

CRASHED = Ended("exited", None, 6, 1, 2)
# The end of what mariadbd 10.11.19 printed when its disk had filled, and the first line of its trace.
LOG = b"""2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in rollback.
261123  4:41:12 [ERROR] mariadbd got signal 6 ;
mariadbd(my_print_stacktrace+0x2e)[0x55f03225087e]
"""


class Server(KeptServers):
    """One server, whose job ends after so many looks, and which answers a knock with `said`."""

    name = "mariadb"

    def __init__(self, said: str | Exception | None, *looks: Ended | None) -> None:
        self.said, self.looks = said, list(looks)
        self.host = SimpleNamespace(name="db1", root="/x", shell=lambda *_, **__: SimpleNamespace(stderr=""))
        self._jobs = {"db1": cast(Job, self)}

    @property
    def carriers(self) -> list[RemoteHost]:
        return [cast(RemoteHost, self.host)]

    def command(self, host: RemoteHost) -> Command:
        raise NotImplementedError

    def knock(self, host: RemoteHost) -> str | None:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said

    # -- as its job

    def status(self) -> Ended | None:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    fate = status

    def stdout(self) -> bytes:
        return LOG

    def stderr(self) -> str:
        return ""


REFUSED = WorkloadFailed("sysbench on executor ended with status 1: Can't connect")
DIED = (
    "mariadb on db1 has died (signal 6): 2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in "
    "rollback. | 261123  4:41:12 [ERROR] mariadbd got signal 6 ;"
)


@pytest.mark.parametrize(
    ("server", "failed", "kind", "said"),
    [
        (Server(None, CRASHED), REFUSED, SystemFailed, DIED),
        # It lives for two looks more, while it writes its report.
        (Server("refused", None, None, None, CRASHED), REFUSED, SystemFailed, DIED),
        (Server("refused", None), REFUSED, SystemFailed, "mariadb on db1 does not serve after 0.2 s: refused"),
        (Server(None, None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        (Server("denied", None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        (Server(ConnectionLost("db1 is away"), None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        # Only of a load that failed: whatever else went wrong is not asked about.
        (Server("refused", None), RemoteFailed("db1", "ls", 1, ""), RemoteFailed, "db1: `ls`"),
    ],
)
def test_the_server_is_named_before_the_load_that_noticed(
    server: Server, failed: BenchbookError, kind: type[Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_servers, "DYING_S", 0.2)
    with pytest.raises(kind) as found, blaming(server):
        raise failed
    assert str(found.value).startswith(said)
