"""TPC-C's own books: what must be equal in its tables, and what they must hold after a load.

The conditions themselves (TPC-C 5.11, clause 3.3.2) are asked by `go-tpc tpcc check`. They hold also for a database
that has lost a transaction as a whole; what was acknowledged is counted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchbook.errors import SystemFailed
from benchbook.systems import psql, sql

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost

TABLES = ("customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse")
# Of these the initial population has a fixed number of rows for each warehouse (clause 4.3.3.1), and items in all.
ROWS = {"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "orders": 30_000, "stock": 100_000}
ITEMS = 100_000
# Clause 2.4.1.4: 1% of new orders name an item that is not there, and are rolled back. Five times that is another
# cause's doing.
MOST_ROLLED_BACK, ALWAYS = 0.05, 5
_COUNTS = "SELECT (SELECT sum(d_next_o_id - 1) FROM district), (SELECT count(*) FROM history)"
_INDEX = "benchbook_history"
_BEGUN = re.compile(r"begin to check warehouse (\d+) at condition ([\d.]+)")


@dataclass(frozen=True)
class OrderBooks:
    """Orders that were ever entered (by the numbers of their districts), and payments (by the history)."""

    orders: int
    payments: int

    def wrong(self, before: OrderBooks, entered: tuple[int, int], paid: tuple[int, int]) -> str:
        """What does not fit after a load with so many transactions, (done, failed) of each kind; empty where all does.

        A failed one may have been done all the same, if the answer to its commit was lost.
        """
        orders, payments = self.orders - before.orders, self.payments - before.payments
        (new, failed), said = entered, []
        least = new - max(ALWAYS, MOST_ROLLED_BACK * new)
        if not least <= orders <= new + failed:
            said.append(f"{orders:,} orders were entered by {new:,} new-order transactions ({failed:,} failed)")
        if not paid[0] <= payments <= sum(paid):
            said.append(f"the history has {payments:,} new rows after {paid[0]:,} payments ({paid[1]:,} failed)")
        return "; ".join(said)


def read(client: RemoteHost, ends: Sequence[Endpoint], database: str, timeout_s: float) -> OrderBooks:
    """The books of all copies of the data together; each may take `timeout_s`. Raises SystemFailed."""
    found = [_read(client, end, database, timeout_s) for end in ends]
    return OrderBooks(sum(each.orders for each in found), sum(each.payments for each in found))


def _read(client: RemoteHost, end: Endpoint, database: str, timeout_s: float) -> OrderBooks:
    ask = psql.query if end.protocol == "pgsql" else sql.query
    ((orders, payments),) = ask(client, end, _COUNTS, database=database, timeout_s=timeout_s)
    if orders in (None, ""):
        raise SystemFailed(f"{end}: TPC-C's tables are empty")
    return OrderBooks(int(orders), int(payments))


def analyse(client: RemoteHost, end: Endpoint, database: str, timeout_s: float) -> None:
    """Statistics of every table, as the report collects them after its import; each may take `timeout_s`.

    Raises SystemFailed.
    """
    if end.protocol == "pgsql":
        for table in TABLES:
            psql.query(client, end, f"VACUUM (ANALYZE) {table}", database=database, timeout_s=timeout_s)
        return
    sql.queries(client, end, [f"ANALYZE TABLE {name}" for name in TABLES], database=database, timeout_s=timeout_s)


@contextmanager
def indexed(client: RemoteHost, end: Endpoint, database: str, timeout_s: float) -> Iterator[None]:
    """An index on the history, for as long as the conditions are asked; it is no part of the load.

    To make it may take `timeout_s`.
    For condition 10 go-tpc sums up the payments of each customer by itself. Without it a server that does as it is told
    reads the history of a warehouse 30,000 times, which takes minutes. TiDB joins the two, and needs none.
    """
    ask = psql.query if end.protocol == "pgsql" else sql.query
    if "TiDB" in str(ask(client, end, "SELECT version()")[0][0]):
        yield
        return
    of = "" if end.protocol == "pgsql" else " ON history"
    made = f"CREATE INDEX {_INDEX} ON history (h_c_w_id, h_c_d_id, h_c_id)"
    ask(client, end, made, database=database, timeout_s=timeout_s)
    try:
        yield
    finally:
        ask(client, end, f"DROP INDEX {_INDEX}{of}", database=database)


def checked(text: str) -> dict[int, list[str]]:
    """The conditions that a `go-tpc tpcc check` has begun with, by warehouse; it stops at the first that fails."""
    found: dict[int, list[str]] = {}
    for warehouse, condition in _BEGUN.findall(text):
        found.setdefault(int(warehouse), []).append(condition)
    return {warehouse: sorted(each, key=_number) for warehouse, each in sorted(found.items())}


def _number(condition: str) -> int:
    return int(condition.rpartition(".")[2])
