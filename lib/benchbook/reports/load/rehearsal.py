"""Loads of which nothing is kept, before the first block of a system: until its servers have the memory they will use.

Memory that a virtual machine uses for the first time comes page by page from its host: 15 to 20 us each, where memory
that it has used before takes 4 (two virtual cores, Linux 6.18). TiDB took up 3 GB within 15 s of load, and did half to
two thirds meanwhile of what it did later. The machine has it from then on, and the servers of later blocks find it.
Where it keeps its memory (hosts/remote/tune.py) there is no need of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle

from benchbook.campaign.design import Trial
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host_facts import gather
from benchbook.reports.driving import Driver
from benchbook.systems.base import System

# How long one load lasts, how much less memory is left after one while they still take it up, and how many loads in a
# row must take less.
LOAD_S, TAKEN_B, STEADY_LOADS = 2, 64 << 20, 2


def rehearse(driver: Driver, block: Sequence[Trial], system_for: Callable[[Trial], System], most_s: float) -> None:
    """Run a block's loads in turn until its servers' hosts keep their free memory, `most_s` s at most.

    `system_for` is asked before each load, and has the load generator take the trial's options. Raises TrialFailed.
    """
    system = system_for(block[0])
    short = replace(driver, time_s=min(driver.time_s, LOAD_S), may_overrun=True)
    until, steady, left = time.monotonic() + most_s, 0, _available(system)
    for trial in cycle(block):
        if steady == STEADY_LOADS or time.monotonic() >= until:
            return
        short.warm(system_for(trial), trial.cell.levels)
        before, left = left, _available(system)
        takes = any(before[host] - left[host] > TAKEN_B for host in left)
        steady = 0 if takes else steady + 1


def _available(system: System) -> dict[str, int]:
    """Bytes that programs could still have, by host."""
    return on_each("reading free memory", system.hosts, lambda host: gather(host).memory_available_bytes or 0)
