"""Redis: one server per host of role `my_redis`, from the host's own package."""

from __future__ import annotations

from benchbook.hosts.agent import Command
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems.base import System


class MyRedis(System):
    """The real redis-server. It writes its data to disk when it is stopped, which is what is set aside and restored."""

    name = "my_redis"
    title = "Redis"
    protocol = "my_redis"
    default_port = 6379
    # The kit's own probe of Redis, and the one that comes with this package.
    watched_by = ("redis", "my_redis")

    def install_on(self, host: Host) -> None:
        # One program under several names; the package `redis-server` adds a name, and a service that starts itself.
        program = host.require_program("redis-check-rdb", package="redis-tools")
        host.require_program("redis-cli", package="redis-tools")
        host.mkdir(host.path(self.name))
        host.run(["ln", "-sf", program, self._server(host)])

    def _server(self, host: Host) -> str:
        return host.path(self.name, "redis-server")

    @property
    def identity(self) -> str:
        """`Redis server v=7.0.15 sha=...`: an older server may not read what a newer one has written."""
        said = self.hosts[0].run([self._server(self.hosts[0]), "--version"]).stdout
        return f"{self.name}-{said.split('v=')[1].split()[0]}"

    def command(self, host: Host) -> Command:
        where = ["--bind", host.address, "--port", self.port, "--dir", self.data(host)]
        argv = [self._server(host), *where, "--protected-mode", "no", "--save", "3600 1"]
        return Command(argv, timeout_s=LONGEST_S, grace_s=30)

    def knock(self, host: Host) -> str | None:
        answer = self._ask(host, "PING")
        return None if answer.strip() == "PONG" else answer.strip() or "no answer"

    def version(self) -> str:
        lines = self._ask(self.hosts[0], "INFO", "server").splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))

    def variables(self) -> dict[str, str]:
        lines = self._ask(self.hosts[0], "CONFIG", "GET", "*").splitlines()
        return dict(zip(lines[::2], lines[1::2], strict=True))

    def _ask(self, host: Host, *words: str) -> str:
        done = host.run(["redis-cli", "-h", host.address, "-p", self.port, *words], check=False)
        return done.stdout or done.stderr
