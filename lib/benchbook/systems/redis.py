"""Redis: one server on each host of role `redis`, from the host's own package.

redis-benchmark takes a password on its command line alone, where whoever is on the client host can read it. So the kit
and its loads log in with an account that each run makes anew, and that may do nothing dangerous; the password that an
inventory gives (`requirepass`) stands in no command, no record and no process list.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.profiles import Profile
from benchbook.systems.base import System

NOT_DURABLE = "a write is acknowledged before it is on a disk: snapshots (`save`) and no append-only file, as it comes"
ACCOUNT = "benchbook"
# Every command but the @dangerous ones; of those, only INFO and CONFIG GET.
_RIGHTS = "~* &* +@all -@dangerous +info +config|get"
# redis-check-rdb and redis-server are one program. Debian's package redis-server adds only that name, and a service
# that starts by itself.
_PROGRAM, _PACKAGE = "redis-check-rdb", "redis-tools"
_SECRET = re.compile(r"pass|auth|secret")


class Redis(System):
    """The real redis-server. What it writes when it is asked to end is what is set aside and restored."""

    name = "redis"
    title = "Redis"
    protocol = "redis"
    default_port = 6379
    watched_by = ("redis",)
    _version = ""
    fixed = frozenset({"bind", "port", "dir", "requirepass", "user", "aclfile", "daemonize"})

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self._of_account = secrets.token_urlsafe(24)

    def install(self) -> None:
        super().install()
        first = self.own_hosts[0]
        # Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=...
        said = first.run([self._server(first), "--version"]).stdout
        self._version = said.partition(" v=")[2].partition(" ")[0]

    def install_on(self, host: Host) -> None:
        host.require_program("redis-cli", package=_PACKAGE)
        host.mkdir(host.path(self.folder))
        program = self.settings.binary or host.require_program(_PROGRAM, package=_PACKAGE)
        host.run(["ln", "-sfn", program, self._server(host)])

    def _server(self, host: Host) -> str:
        return host.path(self.folder, "redis-server")

    @property
    def identity(self) -> str:
        """An older server may not read what a newer one has written."""
        return f"{self.name}-{self._version}"

    def endpoint(self, host: Host) -> Endpoint:
        return Endpoint(host.address, self.port, ACCOUNT, self._of_account, protocol=self.protocol)

    # -- its processes --------------------------------------------------------------------------------------------

    def command(self, host: Host) -> Command:
        settings = {name: _written(value) for name, value in self.server_settings.items()}
        of_kit: dict[str, Any] = {"bind": host.address, "port": self.port, "dir": self.data(host)}
        default = f"requirepass {_quoted(self.password)}" if self.password else "user default off"
        lines = [f"{name} {value}" for name, value in {**of_kit, **settings}.items()]
        lines += [default, f"user {ACCOUNT} on >{self._of_account} {_RIGHTS}"]
        argv = [self._server(host), "{job}/redis.conf"]
        conf = "".join(f"{line}\n" for line in lines)
        return Command(argv, timeout_s=LONGEST_S, grace_s=30, secrets={"redis.conf": conf})

    def knock(self, host: Host) -> str | None:
        said = ask(host, self.endpoint(host), "PING")
        if said.startswith("WRONGPASS"):
            return "denied"
        return None if said == "PONG" else said or "no answer"

    # -- what it is -----------------------------------------------------------------------------------------------

    def _lines(self, *words: object) -> list[str]:
        host = self.own_hosts[0]
        said = ask(host, self.endpoint(host), *words)
        if not said or said.startswith(("NOPERM", "ERR", "NOAUTH", "WRONGPASS")):
            raise SystemFailed(f"{self.name} on {host.name}: {' '.join(map(str, words))} answers {said or 'nothing'}")
        return said.splitlines()

    def version(self) -> str:
        found = [line.partition(":")[2] for line in self._lines("INFO", "server") if line.startswith("redis_version:")]
        return found[0]

    def variables(self) -> dict[str, str]:
        """Its whole configuration, without what is secret in it."""
        lines = self._lines("CONFIG", "GET", "*")
        found = dict(zip(lines[::2], lines[1::2], strict=False))
        return {name: value for name, value in found.items() if not _SECRET.search(name)}

    def notes(self) -> tuple[str, ...]:
        return () if {"save", "appendonly", "appendfsync"} & {*self.server_settings} else (NOT_DURABLE,)


def ask(via: Host, end: Endpoint, *words: object) -> str:
    """What the server at `end` answers to a command, or why it does not, as redis-cli prints it on host `via`."""
    with via.secret_files({"password": end.password}) as folder:
        how = [
            "sh",
            "-c",
            'REDISCLI_AUTH=$(cat "$0") exec "$@"',
            f"{folder}/password",
            via.inventory.program("redis-cli"),
        ]
        where = ["-h", end.address, "-p", end.port, "--user", end.user, "--no-auth-warning"]
        done = via.run([*how, *where, *words], check=False)
    return (done.stdout or done.stderr).strip()


def _written(value: object) -> str:
    """Return a setting of an inventory as a line of redis.conf has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
