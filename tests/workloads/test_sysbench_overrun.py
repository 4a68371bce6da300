"""A load of sysbench whose queue was full: what is known of it, where it is an answer and where a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from kit import FIXTURES
from records import record

from benchbook.campaign import max_rate
from benchbook.campaign.design import Cell
from benchbook.campaign.max_rate import Searched, Slo, verdict
from benchbook.errors import WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.plots import output
from benchbook.plots import trials as trial_plots
from benchbook.profiles import SysbenchSize
from benchbook.reports.driving import Driver
from benchbook.workloads import sysbench_output
from benchbook.workloads.base import Ran
from benchbook.workloads.sysbench import Sysbench

# Of the real one: oltp_read_write on MariaDB 10.11, one thread at 45,000 transactions/s.
FULL = (FIXTURES / "sysbench" / "queue_full.txt").read_text()
SIZE = SysbenchSize.model_construct(tables=1, table_size=1000, time_s=10, prepare_threads=1, rate=0)


def ran(text: str = FULL, client: str = "a", reason: str = "exited", status: int | None = 1) -> Ran:
    return Ran(client, Command(["sysbench"], 1), Ended(reason, status, None, 1000.0, 1002.6), text, "")


def driver(*, may_overrun: bool) -> Driver:
    return Driver(cast(Any, None), Sysbench(SIZE, [], 1), [], 10, may_overrun=may_overrun)


def test_its_rates_until_then_are_known_and_no_latency_is() -> None:
    found = sysbench_output.queue_full([ran()])
    assert found is not None
    # (448.44 + 449.21) / 2
    assert found.summary["tps"].value == pytest.approx(448.825)
    assert (found.summary["tps"].unit, found.summary["total_time_s"].value) == ("1/s", 2.0)
    assert found.histogram == []
    queue = found.series[found.series.metric == "queue_length"]
    assert list(queue.value) == [44_668, 88_996]
    assert list(queue.t) == [1001.6, 1002.6]


def test_clients_are_added_and_one_that_was_stopped_meanwhile_too() -> None:
    stopped = FULL.partition("FATAL")[0]
    found = sysbench_output.queue_full([ran(), ran(stopped, "b", "stopped", None)])
    assert found is not None
    assert found.summary["tps"].value == pytest.approx(2 * 448.825)
    assert set(found.proof["clients"]) == {"a", "b"}


@pytest.mark.parametrize(
    "text",
    [
        FULL.partition("FATAL")[0],
        # Before its first line nothing is known of it.
        f"{FULL.partition('[ 1s ]')[0]}{FULL[FULL.index('FATAL') :]}",
        f"{FULL}FATAL: mysql_stmt_execute() returned error 2013 (Lost connection to MySQL server during query)\n",
    ],
)
def test_any_other_end_is_the_failure_that_it_was(text: str) -> None:
    assert sysbench_output.queue_full([ran(text)]) is None
    with pytest.raises(WorkloadFailed, match="ended with status 1"):
        driver(may_overrun=True)._outcome([ran(text)])


def test_it_is_an_answer_in_a_search_and_a_failure_elsewhere() -> None:
    assert driver(may_overrun=True)._outcome([ran()]).summary["tps"].value == pytest.approx(448.825)
    with pytest.raises(WorkloadFailed, match="The event queue is full"):
        driver(may_overrun=False)._outcome([ran()])


def test_its_rate_is_one_that_broke_the_latency() -> None:
    """45,000/s were offered and 449/s answered: one such load decides."""
    found = sysbench_output.queue_full([ran()])
    assert found is not None
    kept = record(levels={"workload": "a", "threads": 1, "rate": 45_000}, summary=found.summary, proof=found.proof)
    load = max_rate.offered(kept.model_copy(update={"histogram": []}))
    assert (load.p99_ms, load.saturated) == (None, True)
    assert verdict([load], 10) == "broken"
    (check,) = Sysbench.record_checks(kept)
    assert (check.ok, check.found) == (True, "full after 2 s: more was offered than the server takes")


def test_a_figure_has_it_at_its_upper_edge() -> None:
    found = sysbench_output.queue_full([ran()])
    assert found is not None
    kept = record(levels={"workload": "a", "threads": 1, "rate": 45_000}, summary=found.summary)
    full = max_rate.offered(kept.model_copy(update={"histogram": []}))
    quick = replace(full, rate=400, achieved=400, seconds=10, p99_ms=2.0)
    cell = Cell(table="a", system="x", levels={"workload": "a", "threads": 1})
    figure = trial_plots.knee([Searched(cell, [quick, full], Slo(p99_ms=10), "")])
    marks = [point for part in figure.axes[0].collections for point in part.get_offsets().tolist()]
    # Above the p99 of 10 ms that is to be kept, and the highest that is known.
    assert [45_000.0, pytest.approx(13.0)] in marks
    assert output.words(figure)[1].endswith(trial_plots.KNEE_UNKNOWN)
