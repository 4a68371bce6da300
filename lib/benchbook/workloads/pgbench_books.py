"""pgbench's own books: what must be equal in its tables whenever no transaction is under way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from benchbook.errors import SystemFailed
from benchbook.systems import psql

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost

_SUMS = (
    "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers), "
    "(SELECT sum(bbalance) FROM pgbench_branches), coalesce(sum(delta), 0), count(*) FROM pgbench_history"
)


@dataclass(frozen=True)
class Books:
    """Sums of the balances, sum of the deltas in the history, and how many rows it has.

    `tpcb_like` books every delta to an account, a teller, a branch and the history; `simple_update` to an account and
    the history. Before any load all are 0, and the history is empty (postgresql.org/docs, pgbench, "What is the
    transaction actually performed").
    """

    accounts: int
    tellers: int
    branches: int
    history: int
    rows: int

    def wrong(self, before: Books, workload: str, events: int) -> str:
        """What does not fit after a load of so many transactions; empty where all does."""
        moved = {name: value - asdict(before)[name] for name, value in asdict(self).items()}
        booked = {"tpcb_like": ("accounts", "tellers", "branches"), "simple_update": ("accounts",)}.get(workload, ())
        said = [f"{name} changed by {moved[name]:,}, not by {expected:,}"
                for name in ("accounts", "tellers", "branches")
                if moved[name] != (expected := moved["history"] if name in booked else 0)]  # fmt: skip
        written = events if booked else 0
        if moved["rows"] != written:
            said.append(f"the history has {moved['rows']:,} new rows after {written:,} transactions that wrote")
        return "; ".join(said)


def read(client: RemoteHost, endpoint: Endpoint, database: str, timeout_s: float) -> Books:
    """The books of one server; to add them up may take `timeout_s`. Raises SystemFailed."""
    (sums,) = psql.query(client, endpoint, _SUMS, database=database, timeout_s=timeout_s)
    accounts, tellers, branches, history, rows = sums
    if "" in (accounts, tellers, branches):
        raise SystemFailed(f"{endpoint}: pgbench's tables are empty")
    return Books(int(accounts), int(tellers), int(branches), int(history), int(rows))
