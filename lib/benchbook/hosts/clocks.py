"""What a host's clock says against the driver's."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# A clock that is known so well need not be asked again, and no clock is asked more often.
CLOCK_ERROR_S, CLOCK_TRIES = 0.01, 8


def clock_offset(host: RemoteHost) -> tuple[float, float]:
    """Seconds that the host's clock is ahead of the driver's, and by how much that may be wrong.

    The exchange with the shortest round trip counts (as in NTP's clock filter); a busy host is asked more often.
    """
    error = offset = math.inf
    for _ in range(CLOCK_TRIES):
        sent = time.time()
        there = host.now()
        back = time.time()
        error, offset = min((error, offset), ((back - sent) / 2, there - (sent + back) / 2))
        if error <= CLOCK_ERROR_S:
            break
    return offset, error
