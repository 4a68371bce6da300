"""Logging in to a host: refused at first, the user has something to mend; later, the host is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import fabric

from benchbook.errors import HostUnreachable, HostUnusable

# Between two tries, in seconds: the first wait and the longest; each is twice the one before.
_FIRST_S, _LONGEST_S = 0.1, 2.0


@dataclass
class PatientLogin:
    """Opens connections to one host. Once one was opened, a host that is away is tried again for `lease_s`.

    After that it has ended what we left there: then a single try is made each time, so that a host which stays away
    holds nobody up.
    """

    host: str
    attempt: Callable[[], fabric.Connection]
    lease_s: float
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    _was_open: bool = field(init=False, default=False)
    _away_since: float | None = field(init=False, default=None)

    def open(self) -> fabric.Connection:
        """Raises HostUnusable at the first refusal, HostUnreachable for a host that has been reached before."""
        wait_s = _FIRST_S
        while True:
            try:
                opened = self.attempt()
            except HostUnusable as problem:
                self._give_up_in_time(problem)
            else:
                self._was_open, self._away_since = True, None
                return opened
            self.pause(wait_s)
            wait_s = min(_LONGEST_S, 2 * wait_s)

    def _give_up_in_time(self, problem: HostUnusable) -> None:
        if not self._was_open:
            raise problem
        if self._away_since is None:
            self._away_since = self.clock()
        if self.clock() - self._away_since >= self.lease_s:
            raise HostUnreachable(
                f"host {self.host} is unreachable, for longer than its lease of {self.lease_s:g} s: {problem.problem} "
                f"(got {problem.value!r})"
            ) from problem
