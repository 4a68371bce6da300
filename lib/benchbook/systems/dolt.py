"""Dolt: MySQL's protocol over data under version control; a dolt sql-server on each host of role `dolt`."""

from __future__ import annotations

import json

from benchbook.hosts.agent import Command
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems.base import SPARE, System
from benchbook.systems.sql import RETRIED, RETRY_NOTE, query
from benchbook.systems.statements import making_account

# Dolt's own default (servercfg.DefaultMaxConnections); it is raised for more clients.
_CONNECTIONS = 1000
# Dolt's home is the job's folder, where it also leaves a temporary file at each start; its use is reported to nobody.
# Without an account it would make root@localhost, without a password. It prints a statement that fails, with the
# password in it.
_STARTS = """\
export DOLT_ROOT_PATH="$PWD" TMPDIR="$PWD" DOLT_DISABLE_EVENT_FLUSH=1
mkdir -p .dolt && cp config_global.json .dolt/ &&
"$0" --data-dir "$1" sql --file accounts.sql || exit
"$0" --data-dir "$1" sql --file password.sql >/dev/null 2>&1 || { echo "dolt cannot set the password" >&2; exit 1; }
exec "$0" sql-server --config server.yaml
"""


class Dolt(System):
    """The real dolt, built from its Go module."""

    name = "dolt"
    title = "Dolt"
    protocol = "mysql"
    default_port = 3306
    builds = ("dolt",)
    program_file = "dolt"
    retried_errors = RETRIED

    @property
    def identity(self) -> str:
        return f"{self.name}-{self.program.identity()}"

    def command(self, host: Host) -> Command:
        server = {
            "log_level": "warning",
            "data_dir": self.data(host),
            "listener": {
                "host": host.address,
                "port": self.port,
                "max_connections": max(_CONNECTIONS, self.clients + SPARE),
                # Where a job begins, in its folder: else it is /tmp/mysql.sock.
                "socket": "dolt.sock",
            },
            "system_variables": dict(self.server_settings),
        }
        # JSON is YAML.
        files = {**self._accounts(), "server.yaml": json.dumps(server)}
        argv = ["sh", "-c", _STARTS, self.program.on(host), self.data(host)]
        return Command(argv, timeout_s=LONGEST_S, grace_s=30, secrets=files)

    def _accounts(self) -> dict[str, str]:
        """Return the files by which the inventory's account gets its password before anybody can log in."""
        user, its_password, rights = making_account(self.settings.user, self.password)
        return {
            "accounts.sql": f"{user};\n{rights};\n",
            "password.sql": f"{its_password};\n",
            "config_global.json": json.dumps({"metrics.disabled": "true"}),
        }

    def version(self) -> str:
        """Return its own version; that of `VERSION()` is the one of the MySQL that it is like."""
        return str(query(self.via, self.endpoints()[0], "SELECT dolt_version()")[0][0])

    def notes(self) -> tuple[str, ...]:
        return ("data in Dolt's working set: no load makes a commit of its history", RETRY_NOTE)
