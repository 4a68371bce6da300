"""The series of trials cut out for figures."""

from __future__ import annotations

import pandas as pd
from records import record

from benchbook.analysis.samples import series_of
from benchbook.campaign.environment import Environment
from benchbook.hosts.host_models import HostFacts

SECONDS = (1001.0, 1002.0)


def cores_in_use(
    boots: dict[str, str],
    busy: dict[str, float],
    at: dict[str, tuple[float, ...]] | None = None,
    bound: dict[str, float] | None = None,
) -> list[float]:
    """Of one trial with client `c` and samples in two seconds; each of four cores that is not busy is idle.

    `bound`: how busy the one core is that a host's programs are bound to.
    """
    rows = [
        {"t": t, "host": host, "source": "host", "metric": metric, "value": value, "unit": "cores"}
        for host, cores in busy.items()
        for t in (at or {}).get(host, SECONDS)
        for metric, value in (("cpu.user", cores), ("cpu.idle", 4 - cores))
    ]
    rows += [
        {"t": t, "host": host, "source": "host", "metric": metric, "value": value, "unit": "cores"}
        for host, cores in (bound or {}).items()
        for t in SECONDS
        for metric, value in (("bound.user", cores), ("bound.idle", 1 - cores))
    ]
    facts = Environment(hosts={host: HostFacts(cores=4, boot_id=boot) for host, boot in boots.items()})
    ran = record(client="c", started=1000.0, ended=1002.0, levels={"threads": 8})
    frame = series_of([ran], lambda _: pd.DataFrame(rows), facts, "cpu", "", ["threads"])
    return [float(value) for value in frame.value]


def test_cores_in_use_are_summed_over_machines_and_no_machine_counts_twice() -> None:
    # Two servers on one machine, which both see all of it, and the client on another one.
    assert cores_in_use({"db1": "x", "db2": "x", "c": "y"}, {"db1": 3.0, "db2": 3.0, "c": 0.5}) == [3.5, 3.5]
    # The client beside one of two servers, each on a machine of its own.
    assert cores_in_use({"db1": "x", "db2": "y", "c": "y"}, {"db1": 3.0, "db2": 2.0, "c": 2.0}) == [5.0, 5.0]
    # All on one, as in a lab.
    assert cores_in_use({"db1": "x", "c": "x"}, {"db1": 2.0, "c": 2.0}) == [2.0, 2.0]
    # The same, each bound to a core of its own: the machine is still all of it, not the client's core.
    assert cores_in_use({"db1": "x", "c": "x"}, {"db1": 1.5, "c": 1.5}, bound={"db1": 1.0, "c": 0.5}) == [1.5, 1.5]
    # Of hosts without a boot id nobody knows better than that each is one.
    assert cores_in_use({"db1": "", "c": ""}, {"db1": 2.0, "c": 1.0}) == [3.0, 3.0]
