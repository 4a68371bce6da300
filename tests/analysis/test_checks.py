"""The checks every record must pass before it is believed, and the tables made of records; figures by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import tabled
from kit import ROOT
from records import record, with_values

from benchbook import published
from benchbook.analysis import checks, cpu_use
from benchbook.analysis.trials import cells, figures_of, of_records
from benchbook.campaign.design import Cell, Trial, plan
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.hosts.host_models import HostFacts
from benchbook.probes.samples import COLUMNS
from benchbook.published.tables import Published
from benchbook.reports.load.load_kind import LoadKind
from benchbook.workloads.sysbench import Sysbench

REPORT = "tidb_v7_1_3_sysbench"


def cpu(*busy: float, host: str = "executor") -> pd.DataFrame:
    """One sample a second from t = 1000, `busy` cores in use."""
    rows = [(1000.0 + i, host, "host", "cpu.user", value, "cores") for i, value in enumerate(busy)]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize(
    ("tps", "mean_ms", "ok", "found"),
    [
        (2000, 4.0, True, "8.0 of 8 threads busy"),  # 2000/s x 4 ms = 8
        (2000, 3.8, True, "7.6 of 8 threads busy"),  # 5% below, and 1% of the run is tail (100 ms of 10 s)
        (2000, 3.74, False, "7.5 of 8 threads busy"),  # 6.5% below: beyond 5% + 1%
        (2000, 4.3, False, "8.6 of 8 threads busy"),  # more than there are threads
        (1000, 4.0, False, "4.0 of 8 threads busy"),
    ],
)
def test_littles_law(tps: float, mean_ms: float, ok: bool, found: str) -> None:
    row = checks.little(record(summary=with_values(tps=tps, latency_mean_ms=mean_ms)))
    assert (row.ok, row.found) == (ok, found)


def test_littles_law_allows_for_the_time_that_the_last_transactions_took() -> None:
    slow = with_values(tps=1600, latency_mean_ms=4, total_time_s=12.5)  # 6.4 of 8; 20% of the run was overrun
    assert checks.little(record(summary=slow)).ok
    on_time = {**slow, "total_time_s": with_values(total_time_s=10.0)["total_time_s"]}
    assert not checks.little(record(summary=on_time)).ok


def test_littles_law_does_not_hold_threads_of_an_open_loop_to_be_busy() -> None:
    assert checks.little(record(summary=with_values(tps=1), asked={"time_s": 10, "rate": 1})).ok


def saturation(series: pd.DataFrame, environment: Environment) -> checks.Check:
    return checks.client_saturation(record(), cpu_use.of_record(record(), series), environment)


def hosts(**boots: str) -> Environment:
    return Environment(hosts={name: HostFacts(cores=2, boot_id=boot) for name, boot in boots.items()})


@pytest.mark.parametrize(
    ("busy", "ok", "found"),
    # The first sample began before the load: it counts where there is no other.
    [((2.0, 1.0, 1.4), True, "60% of 2 cores"), ((0.0, 1.8, 1.8), True, "90% of 2 cores"),
     ((0.0, 2.0, 1.9), False, "98% of 2 cores"), ((1.0,), True, "50% of 2 cores"), ((), False, "no samples")],
)  # fmt: skip
def test_a_client_that_is_busy_may_be_what_is_measured(busy: tuple[float, ...], ok: bool, found: str) -> None:
    row = saturation(cpu(*busy), hosts(executor="a", db1="b"))
    assert (row.ok, row.found) == (ok, found)


def test_the_client_is_looked_at_only_while_the_load_ran_and_only_on_its_host() -> None:
    series = pd.concat([cpu(*[1.0] * 11, 2.0, 2.0), cpu(*[2.0] * 11, host="db1")])
    assert saturation(series, hosts(executor="a", db1="b")).found == "50% of 2 cores"


def test_a_lab_s_hosts_share_one_machine_and_the_check_says_so() -> None:
    together = hosts(executor="a", db1="a")
    assert together.shares_machine("executor")
    assert "shares its machine" in saturation(cpu(1.0), together).found
    assert not hosts(executor="a").shares_machine("executor")


def test_an_engine_that_its_load_generator_opens_may_fill_the_client() -> None:
    """As RocksDB's db_bench does: it is told by the roles of the host that the system ran on, whatever its name."""

    def judged(system_on: str, *roles: str, **others: str) -> checks.Check:
        client = HostFacts(cores=2, boot_id="a", roles=list(roles))
        facts = {"executor": client, "db1": HostFacts(cores=2, boot_id="b", roles=["tidb"])}
        ran = {"tidb": system_on, **others}
        about = {name: SystemDescription(name=name, hosts=[on] if on else []) for name, on in ran.items()}
        return saturation(cpu(0.0, 2.0, 2.0), Environment(hosts=facts, systems=about))

    embedded = judged("executor", "client")
    assert (embedded.ok, embedded.found) == (
        True,
        "100% of 2 cores; the engine runs in the load generator: its CPU cannot tell which of them limits",
    )
    # A server of its own on the client's host, one on another host, and a host of unknown roles: the client may limit.
    assert [judged(*said).ok for said in (("executor", "client", "tidb"), ("db1", "client"), ("executor",))] == [
        False,
        False,
        False,
    ]
    # A transfer runs on the client, and its source is a server: of the run, or one that existed before it.
    assert [judged("executor", "client", source=on).found for on in ("db1", "")] == ["100% of 2 cores"] * 2


@pytest.mark.parametrize(("system_on", "server"), [(["executor"], True), ([], False)])
def test_cores_of_the_client_count_as_a_server_s_where_the_system_ran_on_them(
    system_on: list[str], server: bool
) -> None:
    facts = {"executor": HostFacts(cores=2, boot_id="a", roles=["client"])}
    about = Environment(hosts=facts, systems={"tidb": SystemDescription(name="tidb", hosts=system_on)})
    (cell,) = cpu_use.busy_cells([record()], lambda each: cpu_use.of_record(each, cpu(1.0)), about)
    assert [(machine.client, machine.server) for machine in cell.machines] == [(True, server)]


def test_of_a_client_that_is_bound_to_some_cores_these_count() -> None:
    # Of 2 cores the other one is idle: bound to one, 0.96 of a second's CPU is 96%, not 48%.
    whole = cpu(0.96, 0.96, 0.96)
    bound = pd.concat([whole, whole.assign(metric="bound.user"), whole.assign(metric="bound.idle", value=0.04)])
    assert saturation(whole, hosts(executor="a")).found == "48% of 2 cores"
    assert saturation(bound, hosts(executor="a")).found == "96% of 1 core"
    (use,) = cpu_use.of_record(record(), bound)
    assert (use.busy, use.share, use.cores, use.bound) == (pytest.approx(0.96), pytest.approx(0.96), 1.0, True)


def test_hosts_that_are_bound_to_other_processors_of_a_machine_are_machines_of_their_own() -> None:
    """A full core of the load generator, and one of the server that is half idle: no mean of the two says either."""
    full, half = cpu(1.0, 1.0), pd.concat([cpu(0.5, 0.5, host="db1"), cpu(0.5, 0.5, host="db1")])
    half["metric"] = ["bound.user"] * 2 + ["bound.idle"] * 2
    series = pd.concat([full.assign(metric="bound.user"), half])
    cpus = {"executor": [0], "db1": [1]}
    (cell,) = cpu_use.busy_cells([record()], lambda r: cpu_use.of_record(r, series), hosts(executor="a", db1="a"), cpus)
    said = [(machine.share, machine.cores, machine.client, machine.server) for machine in cell.machines]
    assert said == [(1.0, 1, True, False), (0.5, 1, False, True)]


def test_every_record_gets_every_check() -> None:
    def use(each: Any) -> Any:
        return cpu_use.of_record(each, cpu(1.0))

    found = checks.all_checks([record("a"), record("b")], use, hosts(executor="a"), Sysbench.record_checks)
    assert found.groupby("trial").size().to_dict() == {"a": 3, "b": 3}
    assert list(checks.all_checks([], use, Environment(), Sysbench.record_checks).columns) == [
        "trial",
        "check",
        "ok",
        "found",
    ]


# -- tables -------------------------------------------------------------------------------------------------------


def three(threads: int, *tps: float, system: str = "tidb") -> list[Any]:
    levels = {"workload": "oltp_insert", "threads": threads}
    return [
        record(f"r{i}-{system}-{threads}", system=system, levels=levels, repetition=i + 1, summary=with_values(tps=v))
        for i, v in enumerate(tps)
    ]


def test_cells_are_means_over_repetitions() -> None:
    found = cells(figures_of(of_records([*three(8, 10, 30), *three(16, 5)]), ["tps"]))
    assert found[["threads", "measured", "n", "unit"]].values.tolist() == [[8, 20, 2, "1/s"], [16, 5, 1, "1/s"]]
    assert cells(figures_of(of_records([]))).empty


def planned(*systems: str) -> list[Trial]:
    cells = [Cell(table="oltp_insert", system=s, levels={"workload": "oltp_insert", "threads": 8}) for s in systems]
    return plan(cells, 1, seed=1, asked={})


def beside(report: Published, records: list[Any], *systems: str) -> pd.DataFrame:
    found = tabled.beside(LoadKind(), report, records, planned(*systems))
    return found[found.table == "oltp_insert"]


def test_published_and_measured_stand_side_by_side_in_the_report_s_order() -> None:
    report = published.load(REPORT, ROOT / "data" / "published")
    table = report.tables["oltp_insert"]
    levels = [int(v) for v in table.frame["threads"]]
    records = [*three(levels[0], 10, 30), *three(3, 7)]
    ours = beside(report, records, "tidb")
    tps = ours[ours.metric == "tps"].set_index("threads")
    assert tps.index.tolist() == [*levels, 3], "levels that only the run has come last"
    assert tps.published[levels[0]] == table.value("tps", threads=levels[0])
    assert (tps.measured[levels[0]], tps.n[levels[0]]) == (20, 2)
    assert tps[["published", "measured"]].isna().values.tolist() == [
        [False, False],
        *[[False, True]] * 2,
        [True, False],
    ]
    assert set(ours.unit) == {"1/s", "ms"}


def test_a_column_that_is_printed_in_another_unit_than_it_is_measured_in_is_refused() -> None:
    """2,000 transactions/s stood beside 40,000 ms, and both were called ms."""
    report = published.load(REPORT, ROOT / "data" / "published")
    table = report.tables["oltp_insert"]
    in_ms = replace(table, fields={**table.fields, "tps": replace(table.fields["tps"], unit="ms")})
    wrong = replace(report, tables={**report.tables, "oltp_insert": in_ms})
    said = r"datapackage\.json: oltp_insert\.tps\.unit: the column is measured in 1/s \(got 'ms'\)"
    with pytest.raises(BadInput, match=said):
        tabled.figures(LoadKind(), wrong, [record()])
    # What was not measured is in no unit.
    assert len(tabled.beside(LoadKind(), wrong, [], planned("tidb")))


def test_a_probe_that_failed_is_a_check_that_failed() -> None:
    """Each by its name: of a check the page shows one example, and of two probes it showed one."""
    failed = {"mine@b": "KeyError: 'x' (line 3 of mine.py)", "yours@c": "none came in time"}
    assert checks.failed_probes(Record.model_construct(id="r01", proof={"failed_probes": failed})) == [
        checks.Check("r01", "probe mine@b", False, "took no sample: KeyError: 'x' (line 3 of mine.py)"),
        checks.Check("r01", "probe yours@c", False, "took no sample: none came in time"),
    ]
    assert checks.failed_probes(Record.model_construct(id="r01", proof={"probe_cores": {}})) == []
