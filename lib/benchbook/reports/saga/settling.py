"""Waiting for a load's last effects: a condition that comes to hold, counters that stand still."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.errors import SystemFailed
from benchbook.systems import mysql

# DTM retries at the earliest 10 s after a transaction stalled, and looks for such every 3 s.
SETTLE_S = 90.0


class Still:
    """Whether counters stand still from one call to the next; `last` is what was read then."""

    def __init__(self, read: Callable[[], dict[str, int]]) -> None:
        self._read, self.last = read, read()

    def __call__(self) -> bool:
        before, self.last = self.last, self._read()
        return mysql.statements(before) == mysql.statements(self.last)


def until(holds: Callable[[], bool], what: str, *, every_s: float = 0.05) -> None:
    """Return once `holds` does. Raises SystemFailed after SETTLE_S."""
    patient = Retrying(
        retry=retry_if_result(lambda held: not held), stop=stop_after_delay(SETTLE_S), wait=wait_fixed(every_s)
    )
    try:
        patient(holds)
    except RetryError as problem:
        raise SystemFailed(f"waited {SETTLE_S:g} s in vain for {what}") from problem
