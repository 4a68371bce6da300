"""Who is named when a load fails: the server that has died, is dying, or does not answer, before who noticed it.

And a server that had to be killed when it was asked to end: nobody else would say so.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.errors import BenchbookError, ConnectionLost, RemoteFailed, SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command, Ended, Job
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.systems import server as server_module
from benchbook.systems.health import blaming
from benchbook.systems.mongo import Mongod
from benchbook.systems.mysql import MariaDB, MySQL80
from benchbook.systems.postgresql import PostgreSQL
from benchbook.systems.server import Servers, Service

CRASHED = Ended("exited", None, 6, 1, 2)
# The end of what mariadbd 10.11.19 printed when its disk had filled, and the first line of its trace.
LOG = b"""2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in rollback.
261123  4:41:12 [ERROR] mariadbd got signal 6 ;
mariadbd(my_print_stacktrace+0x2e)[0x55f03225087e]
"""


class Mariadb(Service):
    """A service of one server, which answers a knock with `answer`."""

    name = "mariadb"

    def __init__(self, answer: str | Exception | None = None) -> None:
        self.answer = answer
        self.host = SimpleNamespace(name="db1", root="/x", disk_problem=lambda: "")

    @property
    def own_hosts(self) -> list[Host]:
        return [cast(Host, self.host)]

    def command(self, host: Host) -> Command:
        raise NotImplementedError

    def knock(self, host: Host) -> str | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Ending:
    """A job that ends so after so many looks."""

    def __init__(self, host: object, *looks: Ended | None) -> None:
        self.host, self.looks = host, list(looks)

    def status(self) -> Ended | None:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    ended_or_ending = status

    def stdout(self) -> bytes:
        return LOG

    def stderr(self) -> str:
        return ""

    def remove(self) -> None:
        """Nothing to remove."""


def running(answer: str | Exception | None, *looks: Ended | None) -> Servers:
    service = Mariadb(answer)
    servers = Servers(service)
    servers.jobs = {"db1": cast(Job, Ending(service.host, *looks))}
    return servers


REFUSED = WorkloadFailed("sysbench on executor ended with status 1: Can't connect")
DIED = (
    "mariadb on db1 has died (signal 6): 2026-11-23  4:41:12 6 [ERROR] [FATAL] InnoDB: Error (Out of disk space) in "
    "rollback. | 261123  4:41:12 [ERROR] mariadbd got signal 6 ;"
)


@pytest.mark.parametrize(
    ("server", "failed", "kind", "said"),
    [
        (running(None, CRASHED), REFUSED, SystemFailed, DIED),
        # It lives for two looks more, while it writes its report.
        (running("refused", None, None, None, CRASHED), REFUSED, SystemFailed, DIED),
        (running("refused", None), REFUSED, SystemFailed, "mariadb on db1 does not serve after 0.2 s: refused"),
        (running(None, None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        (running("denied", None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        (running(ConnectionLost("db1 is away"), None), REFUSED, WorkloadFailed, "sysbench on executor ended"),
        # Only of a load that failed: whatever else went wrong is not asked about.
        (running("refused", None), RemoteFailed("db1", "ls", 1, ""), RemoteFailed, "db1: `ls`"),
    ],
)
def test_the_server_is_named_before_the_load_that_noticed(
    server: Servers, failed: BenchbookError, kind: type[Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "DYING_S", 0.2)
    with pytest.raises(kind) as found, blaming(server):
        raise failed
    assert str(found.value).startswith(said)


# -- a server that had to be killed ---------------------------------------------------------------------------------

KILLED = Ended("stopped", None, 9, 1, 601)


def ending(ended: Ended) -> tuple[Servers, list[dict[str, Any]]]:
    """A server whose job ends so, and how its end was asked for."""
    service, asked = Mariadb(), list[dict[str, Any]]()

    def end(job: Job, **how: Any) -> Ended:
        asked.append(how)
        return ended

    service.session = cast(Session, SimpleNamespace(end=end))
    service.servers = Servers(service)
    service.servers.jobs = {"db1": cast(Job, Ending(service.host, None))}
    return service.servers, asked


def test_a_server_that_had_to_be_killed_at_its_end_fails_and_is_known_to_have_ended() -> None:
    servers, asked = ending(KILLED)
    servers.service.ends_within_s = 600.0  # type: ignore[misc]
    with pytest.raises(SystemFailed, match="mariadb on db1 was killed, for it had not ended 600 s after it was asked"):
        servers.stop()
    assert (asked, servers.jobs) == ([{"at_once": False, "within_s": 600.0}], {})


def test_whose_data_are_not_kept_may_be_killed() -> None:
    servers, asked = ending(KILLED)
    servers.kill()
    assert asked == [{"at_once": True, "within_s": 0.0}]


@pytest.mark.parametrize("ended", [Ended("stopped", 0, None, 1, 2), Ended("exited", None, 9, 1, 2)])
def test_a_server_that_ended_as_asked_or_was_killed_before_is_no_failure_of_its_stop(ended: Ended) -> None:
    server, _ = ending(ended)
    server.stop()


def test_databases_have_minutes_to_write_what_is_dirty() -> None:
    assert [kind.ends_within_s for kind in (MariaDB, MySQL80, PostgreSQL, Mongod)] == [600.0] * 4
