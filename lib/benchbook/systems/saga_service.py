"""The business service of the DTM report: our own Go program beside DTM, on the host of role `business`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.hosts.about import Json
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.systems.http_server import HttpServer

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.session import Session

# What ran again after a deadlock: the service's own transactions, and sagas whose submit DTM's store refused.
RETRIED = "db_transactions_retried"


class SagaService(HttpServer):
    """Runs one global transaction for each GET /saga, and serves the branches that DTM calls back."""

    name = "business"
    title = "saga-bench (business service)"
    program = "saga-bench"
    alive_path = "/healthz"
    default_port = 8083

    def __init__(self, session: Session, store: Endpoint, dtm_api: str, accounts: int) -> None:
        super().__init__(session, store)
        self._dtm_api, self._accounts = dtm_api, accounts

    def command(self) -> Command:
        argv = [
            self.host.push(self.binary, executable=True),
            "-listen",
            at(self.host.address, self.port),
            "-dtm",
            self._dtm_api,
            "-db-address",
            str(self.store),
            "-db-user",
            self.store.user,
            "-db-password-file",
            "{job}/password",
            "-accounts",
            self._accounts,
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets={"password": f"{self.store.password}\n"})

    def version(self) -> str:
        return str(self.stats()["version"])

    def notes(self) -> tuple[str, ...]:
        return ("written for this notebook: the report's own bench service insists on Redis, MongoDB and localhost",)

    def reset(self) -> None:
        """New accounts and an empty log, an empty barrier table, counters at zero. Raises SystemFailed when busy."""
        self.door.get("/reset", method="POST")

    def stats(self) -> Json:
        """Counts of global transactions and branch calls since the reset, latencies per outcome, what is in flight."""
        found: Json = self.door.get("/stats").json()
        return found

    def books(self) -> Json:
        """The audit of accounts and log; not for use under load."""
        found: Json = self.door.get("/check", timeout=300).json()
        return found
