"""What verdicts take from the records beside the figures: busy machines, and how finely a metric was recorded."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from records import SUMMARY, record

from benchbook import published
from benchbook.analysis import cpu_use, headroom
from benchbook.analysis.headroom import Machine
from benchbook.analysis.results import JudgedClaim
from benchbook.campaign.record import Quantity
from benchbook.claims.oddity import OUTLIER, REGIMES, WIDER, oddity
from benchbook.claims.section import rows
from benchbook.claims.spreads import dimension
from benchbook.claims.terms import Term
from benchbook.claims.words import effect, leans
from benchbook.stats.rounding import Width, last_digit, on_buckets


def test_times_are_of_one_kind_whatever_their_unit_and_levels_do_not_count() -> None:
    ga = published.load("dm_1_0_ga")
    asked = [("load_pool_size", "txn_time_s / pool_size"), ("load_rows_per_statement", "tidb_p99_s"),
             ("sync_distribution", "txn_time_ms"), ("sync_distribution", "relay_mb_s"),
             ("sync_worker_count", "tidb_qps / job_tps")]  # fmt: skip
    assert [dimension(Term(table, metric, {}), ga) for table, metric in asked] == ["time"] * 3 + ["MB/s", "1/s"]


def cpu(host: str, times: list[float], **states: float) -> pd.DataFrame:
    """Samples of a host with the same states each time, in cores."""
    rows = [(t, host, "host", f"cpu.{name}", value, "cores") for t in times for name, value in states.items()]
    return pd.DataFrame(rows, columns=["t", "host", "source", "metric", "value", "unit"])


def test_hosts_of_one_machine_count_once_and_steal_is_not_available() -> None:
    trial = record("r1", table="a", system="s", levels={"x": 1})
    inside, after = [trial.started + 0.5, trial.started + 1], [trial.ended + 5]
    # db: 4 cores, 1 stolen, 0.3 of the other 3 idle: 90% busy. client: half of 2 cores. After the load nothing counts.
    series = pd.concat([
        cpu("db", inside, user=2.2, system=0.5, idle=0.2, iowait=0.1, steal=1.0), cpu("db", after, idle=4.0),
        cpu("kv", inside, user=2.2, system=0.5, idle=0.2, iowait=0.1, steal=1.0),
        cpu(trial.client, inside, user=1.0, idle=1.0),
    ])  # fmt: skip
    boots = {"db": "one", "kv": "one", trial.client: "two"}
    (cell,) = headroom.busy_cells([trial], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(series)), boots)
    assert (cell.table, cell.system, cell.levels) == ("a", "s", {"x": 1})
    assert [m.share for m in cell.machines] == pytest.approx([0.9, 0.5])
    assert [(m.cores, m.client, m.server) for m in cell.machines] == [(4, False, True), (2, True, False)]
    (shared,) = headroom.busy_cells(
        [trial], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(series)), dict.fromkeys(boots, "one")
    )
    assert [(m.client, m.server) for m in shared.machines] == [(True, True)]


def test_a_sample_that_began_before_the_load_does_not_count() -> None:
    trial = record("r1", table="a", system="s", levels={"x": 1})
    first, second = trial.started + 0.4, trial.started + 1.4
    # The first second of a short load is partly the quiet before it; where there is no other, it has to do.
    series = pd.concat([cpu("db", [trial.started - 0.6], idle=2.0), cpu("db", [first], user=1.0, idle=1.0)])
    (cell,) = headroom.busy_cells([trial], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(series)), {"db": "one"})
    assert cell.machines[0].share == pytest.approx(0.5)
    series = pd.concat([series, cpu("db", [second], user=1.9, idle=0.1)])
    (cell,) = headroom.busy_cells([trial], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(series)), {"db": "one"})
    assert cell.machines[0].share == pytest.approx(0.95)


def test_what_a_transfer_did_before_and_after_it_copied_does_not_count() -> None:
    more = {"total_time_s": Quantity(value=4, unit="s"), "idle_s": Quantity(value=3, unit="s")}
    trial = record("r1", table="a", system="s", levels={"x": 1}, summary={**SUMMARY, **more})
    # It ran for 10 s: 3 s of preparing, 4 s of copying at 90% of two cores, 3 s of waiting.
    times = [trial.started + each for each in range(1, 11)]
    series = pd.concat([
        cpu("db", times[:3], idle=2.0), cpu("db", times[3:7], user=1.8, idle=0.2), cpu("db", times[7:], idle=2.0),
    ])  # fmt: skip
    (cell,) = headroom.busy_cells([trial], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(series)), {"db": "one"})
    assert cell.machines[0].share == pytest.approx(0.9)


def test_a_record_without_samples_says_nothing_of_its_machines() -> None:
    (cell,) = headroom.busy_cells(
        [record("r1")], lambda r: cpu_use.of_record(r, pa.Table.from_pandas(pd.DataFrame())), {"db": "one"}
    )
    assert cell.machines == []
    assert Machine(0.5, 2, client=True, server=False).share == 0.5


def test_the_most_of_every_figure_is_over_the_repetitions_that_have_it() -> None:
    values = ({"cache_full": 0.25}, {"cache_full": 0.5, "qps": 9.0}, {"qps": 8.0})
    trials = [
        record(f"r{place}").model_copy(update={"summary": {k: Quantity(value=v, unit="1") for k, v in each.items()}})
        for place, each in enumerate(values)
    ]
    (cell,) = headroom.busy_cells(trials, lambda r: cpu_use.of_record(r, pa.Table.from_pandas(pd.DataFrame())), {})
    assert cell.most == {"cache_full": 0.5, "qps": 9.0}


def test_the_last_digit_that_was_recorded() -> None:
    assert last_digit(np.array([4.57, 12.0, 3.2])) == 0.01
    assert last_digit(np.array([100.0, 1200.0])) == 1
    # Steps of 0.01 at 2: (0.01 / 2)^2 / 12.
    assert Width.of(np.array([2.01, 2.5]), "1/s").log_variance(2.0) == pytest.approx(0.005**2 / 12)


def test_sysbench_buckets_are_known_by_where_the_values_lie() -> None:
    # Bounds of sysbench's histogram as it prints them; rates that look alike are not on them.
    latencies = np.array([8.13, 11.04, 15.55, 4.57, 5.77])
    assert on_buckets(latencies, 0.01)
    assert not on_buckets(np.array([8.20, 11.04, 15.55]), 0.01)
    assert not on_buckets(np.array([0.04, 0.05]), 0.01), "so coarse that anything would fit"
    assert Width.of(latencies, "ms").log_variance(8.13) == pytest.approx((math.log(1e8) / 1023) ** 2 / 12)
    assert Width.of(latencies, "1/s").relative == 0


def test_what_is_odd_about_a_cell() -> None:
    assert oddity(np.array([0.0, 0.01, 0.5, 0.51, 0.02])) == REGIMES
    assert oddity(np.array([0.0, 0.01, 0.5, 0.02, 0.01])) == OUTLIER
    assert oddity(np.array([0.0, 0.2, 0.45, 0.6])) == WIDER
    assert oddity(np.array([0.0, 0.01, 0.5])) == WIDER, "three cannot tell regimes from an outlier"


@pytest.mark.parametrize(
    ("leaning", "said"),
    [(0.93, "leans to holding, 0.93"), (0.08, "leans against, 0.08"), (0.5, "nothing known"), (None, "nothing known"),
     (0.999, "leans to holding, above 0.99"), (0.001, "leans against, below 0.01")],
)  # fmt: skip
def test_a_leaning_in_words_and_in_the_table(leaning: float | None, said: str) -> None:
    assert leans(leaning) == said
    claim = JudgedClaim(id="a", statement="b", verdict="inconclusive", leaning=leaning)
    assert rows([claim])[0]["leaning"] == said
    assert rows([claim.model_copy(update={"verdict": "reproduced"})])[0]["leaning"] == "–"


def test_effects_in_words() -> None:
    assert [effect(v, "times") for v in (0.882, 1.3, 3.106, 1.001)] == ["0.882x (-12%)", "1.3x (+30%)", "3.11x", "1x"]
    assert effect(0.71, "tau") == "tau 0.71"
