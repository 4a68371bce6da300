"""Versions of one system side by side: their names, their places in a report, and whose figure a claim is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import tabled
from kit import INVENTORY, ROOT, Home, inventory
from records import record, with_values
from scipy import stats

from benchbook import systems
from benchbook.analysis.recorded import published_frame
from benchbook.analysis.trials import figures_of, of_records
from benchbook.audit.report_audit import audit
from benchbook.campaign.design import plan
from benchbook.campaign.environment import SystemDescription
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import LevelScaling
from benchbook.claims import judge, ledger, undecided
from benchbook.claims.evidence import ran_by
from benchbook.claims.figures import Term
from benchbook.claims.judge import JudgedSystem
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.published import load
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest, kind_of
from benchbook.reports.load.load_kind import VersionsKind, VersionsParameters
from benchbook.systems import tidb
from benchbook.systems.mysql import MariaDB
from benchbook.systems.tidb import TiDB
from benchbook.systems.tidb_cluster import TiDBCluster

NAME = "tidb_v6_2_vs_v6_1_sysbench"
KIND, REPORT = VersionsKind(), load(NAME)
PAIR = ("tidb:6.5", "tidb:7.1")
THREADS = (300, 600, 900)
TABLES = ("oltp_point_select", "oltp_update_non_index", "oltp_update_index", "oltp_read_write")
# Transactions/s of each table at 300 threads in the older version; both versions rise by 1.3 and 1.4 times.
BASE = dict(zip(TABLES, (20_000, 5000, 2000, 100), strict=True))
RISE = dict(zip(THREADS, (1.0, 1.3, 1.4), strict=True))


def asked(*names: str, **more: Any) -> VersionsParameters:
    return VersionsParameters(profile="smoke", inventory="lab_tidb_versions", systems=list(names), **more)


def measured(names: tuple[str, ...] = PAIR, gain: float = 1.0, repetitions: int = 4) -> list[Record]:
    """A campaign of it: the newer version `gain` times as fast; repetitions 1% apart, alike for both."""
    return [
        record(
            f"r{repetition}-{name}-{table}-{threads}", table=table, system=name, repetition=repetition,
            levels={"workload": table, "threads": threads, "version": version},
            summary=with_values(tps=BASE[table] * RISE[threads] * factor * (1 + repetition / 100)),
        )
        for repetition in range(1, repetitions + 1)
        for name, version, factor in zip(names, ("v6.1.0", "v6.2.0"), (1.0, gain), strict=True)
        for table in TABLES
        for threads in THREADS
    ]  # fmt: skip


def verdicts(records: list[Record], names: tuple[str, ...] = PAIR) -> dict[str, tuple[str, str]]:
    """Claim -> whose ledger it is in, and its verdict; every claim is judged once."""
    trials = plan(KIND.cells(REPORT, asked(*names)), 4, seed=1, asked={})
    found, held = tabled.measured(KIND, REPORT, records, trials), ledger.load(REPORT)
    assert held
    claims = [claim for name in found.systems for claim in judge.judge(held, REPORT, found, JudgedSystem(name))]
    assert len(claims) == len(held.claims) == len({claim.id for claim in claims})
    return {claim.id: (claim.system, "not run" if claim.verdict == "not run" else claim.here or "") for claim in claims}


# -- a version's name -------------------------------------------------------------------------------------------------


def test_a_version_is_its_system_made_of_another_folder(home: Home) -> None:
    where = load_inventory(INVENTORY)
    old, new = (systems.find(name, where) for name in PAIR)
    assert issubclass(old, TiDB)
    assert issubclass(new, TiDB)
    assert [(each.name, each.role_name(), each.builds) for each in (old, new, TiDB)] == [
        ("tidb:6.5", "tidb", ("tidb",)), ("tidb:7.1", "tidb", ("tidb_7_1",)), ("tidb", "tidb", ("tidb",)),
    ]  # fmt: skip
    assert systems.builds(PAIR, where) == ["tidb", "tidb_7_1"]
    assert systems.check_names(PAIR, where) == ["db1", "db1"]


def test_only_a_report_that_names_it_has_it_built() -> None:
    def built(name: str) -> list[str]:
        return kind_of(name).builds(planning.request_for(name, {}))

    names = ("tidb_v7_1_3_sysbench", "dm_1_0_ga", NAME)
    assert ["tidb_7_1" in built(name) for name in names] == [False, False, True]


def test_it_has_the_ports_and_settings_of_its_system_unless_it_has_its_own(home: Home) -> None:
    own = {"tidb": {"port": 4001, "user": "a"}, "tidb:7.1": {"port": 4001, "user": "b"}}
    found = load_inventory(str(home.write("mine.yaml", inventory("127.0.90", systems=own))))
    assert [found.settings(name).user for name in ("tidb", *PAIR)] == ["a", "a", "b"]
    assert [found.port(name) for name in (*PAIR, "tidb:9")] == [4001] * 3
    assert found.port("tidb:7.1", "status_port") == 10080


def test_its_data_lies_in_a_folder_of_its_own_and_its_page_names_it(home: Home) -> None:
    home.write(".lab/secrets/database", "secret\n")
    with Session(load_inventory(INVENTORY), []) as session:
        old, plain = (systems.make(name, session, load_profile("smoke")) for name in ("tidb:6.5", "tidb"))
    assert isinstance(old, TiDB)
    assert isinstance(plain, TiDB)
    assert (old.folder, plain.folder) == ("tidb-6.5", "tidb")
    assert (old.title, plain.title) == ("TiDB 6.5 (unistore)", "TiDB (unistore)")
    # Reports of several releases run either: what it stands in for is for each of them to say.
    notes = [tidb.built_note(each.builds[0], each.named_version) for each in (plain, old)]
    assert notes == [
        "a stand-in, no release: TiDB's release-6.5 branch at commit e307642d9fa5 (unistore inside)",
        "TiDB, release-6.5 branch at commit e307642d9fa5 (unistore inside)",
    ]


def test_a_version_of_a_cluster_has_a_store_of_its_own(home: Home) -> None:
    names, lab = ["tidb_cluster:6.5", "tidb_cluster:7.1", "tidb"], ROOT / "env" / "hosts" / "lab_tidb_cluster.yaml"
    where = load_inventory(str(lab))
    assert systems.builds(names[:1], where) == ["tidb", "pd", "unistore"]
    assert systems.builds(names, where) == ["tidb", "pd", "unistore", "tidb_7_1", "unistore_7_1"]
    home.write(".lab/secrets/database", "secret\n")
    with Session(where, []) as session:
        new = systems.make(names[1], session, load_profile("smoke"))
    assert isinstance(new, TiDBCluster)
    assert new.title == "TiDB 7.1, PD 6.6-alpha, one unistore node in place of three TiKV"
    assert [part.builds[0] for part in (new, new.driver, new.stores)] == ["tidb_7_1", "pd", "unistore_7_1"]


def test_a_system_has_the_versions_that_all_its_parts_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    for folder, text in {"tidb": '"6.5": tidb\n"8.0": tidb\n', "unistore": '"6.5": unistore\n'}.items():
        (tmp_path / "env" / "systems" / folder).mkdir(parents=True)
        (tmp_path / "env" / "systems" / folder / "versions.yaml").write_text(text)
        (tmp_path / "env" / "systems" / folder / "build.yaml").write_text("")
    assert systems.versions(TiDB) == {"6.5": ("tidb",), "8.0": ("tidb",)}
    assert systems.versions(TiDBCluster) == {"6.5": ("tidb", "pd", "unistore")}


@pytest.mark.parametrize(
    ("name", "problem", "fix"),
    [
        ("tidb:5.2", "unknown version of a system", "use tidb, or one of tidb:6.5, tidb:7.1"),
        ("mariadb:10", "this system has one version here", "use mariadb"),
        ("tidbb:7.1", "unknown system", "use one of "),
    ],
)
def test_an_unknown_version_is_refused_with_those_that_there_are(home: Home, name: str, problem: str, fix: str) -> None:
    with pytest.raises(BadInput, match=problem) as caught:
        systems.find(name, load_inventory(INVENTORY))
    assert caught.value.key == "systems"
    assert caught.value.fix.startswith(fix)


def test_a_version_without_its_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    file = tmp_path / "env" / "systems" / "tidb" / "versions.yaml"
    file.parent.mkdir(parents=True)
    file.write_text('"8.0": tidb_8\n')
    with pytest.raises(BadInput, match=r"versions\.yaml: 8\.0: there is no such folder of env/systems"):
        systems.at_version(TiDB, "8.0")
    assert systems.versions(MariaDB) == {}


# -- a report on two versions -----------------------------------------------------------------------------------------


def test_systems_take_the_places_of_the_published_versions_in_their_order() -> None:
    cells = KIND.cells(REPORT, asked("mysql57", "mysql8", workloads=["oltp_read_write"]))
    assert [(cell.system, cell.levels["version"], cell.levels["threads"]) for cell in cells] == [
        (system, version, threads)
        for system, version in (("mysql57", "v6.1.0"), ("mysql8", "v6.2.0"))
        for threads in THREADS
    ]
    assert len(KIND.cells(REPORT, asked(*PAIR))) == 24


@pytest.mark.parametrize("names", [("tidb:6.5",), ("tidb:6.5", "tidb:6.5"), (*PAIR, "mariadb")])
def test_each_version_needs_one_system(names: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="each published version needs one system") as caught:
        KIND.cells(REPORT, asked(*names))
    assert caught.value.fix == "name 2 different systems, for v6.1.0, v6.2.0 in this order"


def test_tables_must_have_the_same_versions() -> None:
    name, table = next(iter(REPORT.tables.items()))
    swapped = REPORT.tables | {name: replace(table, frame=table.frame[::-1].reset_index(drop=True))}
    with pytest.raises(BadInput, match=r"column version: every table .*\(got \['v6.1.0', .*write \['v6.2.0', 'v6.1.0'"):
        KIND.cells(replace(REPORT, tables=swapped), asked(*PAIR))


def test_each_version_stands_beside_its_own_rows() -> None:
    trials = plan(KIND.cells(REPORT, asked(*PAIR)), 4, seed=1, asked={})
    found = tabled.beside(KIND, REPORT, measured(gain=2), trials)
    rows = found[found.metric == "tps"].set_index(["workload", "version", "threads"])
    assert len(rows) == 24
    assert {*zip(rows.system, rows.index.get_level_values("version"), strict=True)} == {
        ("tidb:6.5", "v6.1.0"), ("tidb:7.1", "v6.2.0")
    }  # fmt: skip
    old, new = (rows.loc["oltp_point_select", version, 300] for version in ("v6.1.0", "v6.2.0"))
    # 20,000 x 1.025, the mean of 1.01 to 1.04; twice that in the newer one.
    assert (old.published, old.measured, old.n) == (243530.01, pytest.approx(20_500), 4)
    assert (new.published, new.measured) == (236885.24, pytest.approx(41_000))


@pytest.mark.parametrize(
    ("version", "stands_for"),
    [
        ("5.7.25-TiDB-v6.1.0", None),
        ("5.7.25-TiDB-v6.1.01", "TiDB v6.1.0, a TiDB cluster on TiKV"),
        ("5.7.25-TiDB-v6.5.0-pre-e307642d9fa5", "TiDB v6.1.0, a TiDB cluster on TiKV"),
    ],
)
def test_a_system_stands_in_for_its_version_unless_it_is_that_version(
    home: Home, version: str, stands_for: str | None
) -> None:
    where, profile = load_inventory(INVENTORY), load_profile("smoke")
    trials = KIND.experiment(RunRequest(KIND, REPORT, asked(*PAIR), profile, where))
    own = None if stands_for is None else "a TiDB cluster on TiKV"
    about = SystemDescription(name="tidb:6.5", version=version, stand_in_for=own)
    assert trials.as_restaged(about).stand_in_for == stands_for
    assert RunRequest(KIND, REPORT, asked(*PAIR), profile, where).asked()["in_place_of"] == dict(
        zip(PAIR, ("v6.1.0", "v6.2.0"), strict=True)
    )


# -- claims -----------------------------------------------------------------------------------------------------------


def test_a_claim_is_about_the_system_that_runs_its_rows() -> None:
    said = verdicts(measured(gain=2))
    assert said["rises-read-write-v610"] == ("tidb:6.5", "holds")
    assert said["rises-read-write-v620"] == ("tidb:7.1", "holds")
    assert said["alike-point-select"] == ("tidb:7.1", "holds")
    # An embedded store has no Raft groups to write a second key to.
    assert said["index-costs-v610"] == ("tidb:6.5", "not run")
    # 5000 and 2000: 2.5 times; all read-write figures are 100 x 1.3 and 100 x 1.4 in both versions.
    own = ("mysql57", "mysql8")
    assert verdicts(measured(own, 2), own)["index-costs-v610"] == ("mysql57", "holds")


def test_a_claim_on_a_table_that_was_left_out_stays_with_the_system_of_its_version() -> None:
    """A campaign of point selects alone listed the claims on both versions' updates under both systems."""
    cells = [cell for cell in KIND.cells(REPORT, asked(*PAIR)) if cell.table == "oltp_point_select"]
    of_version = [Term("oltp_update_index", "tps", {"version": v, "threads": 300}) for v in ("v6.1.0", "v6.2.0")]
    assert [ran_by(term, cells) for term in of_version] == list(PAIR)
    # Both run 300 threads.
    assert ran_by(Term("oltp_update_index", "tps", {"threads": 300}), cells) == ""


def test_a_claim_about_two_systems_says_what_each_stands_in_for() -> None:
    trials = plan(KIND.cells(REPORT, asked(*PAIR)), 4, seed=1, asked={})
    found, held = tabled.measured(KIND, REPORT, measured(), trials), ledger.load(REPORT)
    assert held
    new = JudgedSystem("tidb:7.1", "TiDB 7.1", ["7.1 stands in for v6.2.0"], beside={"tidb:6.5": ["6.5 for v6.1.0"]})
    said = {claim.id: claim.sentence for claim in judge.judge(held, REPORT, found, new)}
    assert said["alike-read-write"].endswith("7.1 stands in for v6.2.0. 6.5 for v6.1.0.")
    assert said["rises-read-write-v620"].endswith("7.1 stands in for v6.2.0.")


def test_what_changed_between_the_published_versions_is_not_run_on_later_ones() -> None:
    changes = {id: said for id, said in verdicts(measured(gain=2)).items() if id.startswith("change-")}
    assert changes == {f"change-{name.removeprefix('oltp_').replace('_', '-')}": ("tidb:7.1", "not run")
                       for name in TABLES}  # fmt: skip


def test_what_changed_between_the_published_versions_is_not_run_on_another_product() -> None:
    """Nor where one of the two is another version."""
    names = ("mysql57", "mysql8")
    trials = plan(KIND.cells(REPORT, asked(*names)), 4, seed=1, asked={})
    found, held = tabled.measured(KIND, REPORT, measured(names), trials), ledger.load(REPORT)
    assert held
    for own, other in ((["8.0 stands in for TiDB v6.2.0"], ["5.7 stands in for TiDB v6.1.0"]), ([], ["5.7 stands in"])):
        new = JudgedSystem("mysql8", "MySQL 8.0", own, beside={"mysql57": other})
        said = {claim.id: claim for claim in judge.judge(held, REPORT, found, new)}
        changes = [claim for id, claim in said.items() if id.startswith("change-")]
        assert [claim.verdict for claim in changes] == ["not run"] * 4
        assert all(claim.reason and claim.reason.endswith(f"({'; '.join([*own, *other])})") for claim in changes)
        assert all(claim.decide and "name them, older first" in claim.decide for claim in changes)
        assert said["alike-point-select"].here == "holds"


@pytest.mark.parametrize(("gain", "point_select", "update_index"), [
    (0.9642, "holds", "fails"), (1.0, "fails", "holds"), (2.0, "fails", "fails"),
])  # fmt: skip
def test_on_versions_of_a_user_s_it_is_tested(gain: float, point_select: str, update_index: str) -> None:
    """Tolerance 3%: a drop by 3.58% (0.9642) holds from 0.935 to 0.994, and "unchanged" from 0.97 to 1.031."""
    names = ("mysql57", "mysql8")
    said = verdicts(measured(names, gain), names)
    assert said["change-point-select"] == ("mysql8", point_select)
    assert said["change-update-index"] == ("mysql8", update_index)


END = {"host": "db.invalid", "port": 4000, "user": "u", "password_env": "P"}


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["endpoint:one", "endpoint:same"], {"endpoint:same": "endpoint:one"}),
        (["endpoint:here", "endpoint:localhost"], {"endpoint:localhost": "endpoint:here"}),
        (["endpoint:one", "endpoint:other_port"], {}),
        (["endpoint:cloud", "endpoint:cloud_too"], {"endpoint:cloud_too": "endpoint:cloud"}),
        (["endpoint:cloud", "endpoint:other_cluster"], {}),
        (["tidb", "tidb:6.5", "tidb:7.1"], {"tidb:6.5": "tidb"}),
        (["mariadb", "mariadb:pool", "mariadb:plain"], {"mariadb:plain": "mariadb"}),
        (["mysql57", "mysql8", "mariadb"], {}),
        (
            ["mariadb:pool", "mariadb:dashed", "mariadb:in_mb"],
            dict.fromkeys(["mariadb:dashed", "mariadb:in_mb"], "mariadb:pool"),
        ),
        (["mariadb:pool", "mariadb:larger"], {}),
        (["mariadb:on", "mariadb:one", "mariadb:off"], {"mariadb:one": "mariadb:on"}),
        (["redis:k", "redis:kb", "redis:k_too"], {"redis:k_too": "redis:k"}),
        (["tidb_cluster:on", "tidb_cluster:one", "tidb_cluster:off"], {"tidb_cluster:one": "tidb_cluster:on"}),
    ],
)
def test_systems_that_run_alike_are_known_before_the_run(home: Home, names: list[str], alike: dict[str, str]) -> None:
    ends = {"one": END, "same": {**END, "user": "v"}, "here": {**END, "host": "127.0.0.1"},
            "localhost": {**END, "host": "localhost"}, "other_port": {**END, "port": 4001},
            "cloud": {**END, "tls": True}, "cloud_too": {**END, "tls": True},
            "other_cluster": {**END, "tls": True, "user": "other.u"}}  # fmt: skip
    own = {"mariadb": {"port": 3306}, "mariadb:plain": {"port": 3307},
           "mariadb:pool": {"settings": {"innodb_buffer_pool_size": "1G"}},
           "mariadb:dashed": {"settings": {"innodb-buffer-pool-size": 2**30}},
           "mariadb:in_mb": {"settings": {"innodb_buffer_pool_size": "1024m"}},
           "mariadb:larger": {"settings": {"innodb_buffer_pool_size": "1T"}},
           "mariadb:on": {"settings": {"log_bin_compress": "ON"}},
           "mariadb:one": {"settings": {"log_bin_compress": 1}},
           "mariadb:off": {"settings": {"log_bin_compress": False}},
           "redis:k": {"settings": {"maxmemory": "1g"}}, "redis:k_too": {"settings": {"maxmemory": "1g"}},
           "redis:kb": {"settings": {"maxmemory": "1gb"}},
           "tidb_cluster:on": {"host_settings": {"db1": {"log.enable-slow-log": True}}},
           "tidb_cluster:one": {"settings": {"log.enable-slow-log": True}},
           "tidb_cluster:off": {"host_settings": {"db1": {"log.enable-slow-log": False}}}}  # fmt: skip
    where = load_inventory(str(home.write("mine.yaml", inventory("127.0.90", endpoints=ends, systems=own))))
    assert systems.run_alike(names, where) == alike
    if len(names) == 2:
        said = RunRequest(KIND, REPORT, asked(*names), load_profile("smoke"), where).asked()
        assert said.get("alike", {}) == alike


def test_a_claim_whose_two_sides_run_alike_is_not_run_and_what_is_about_one_side_is() -> None:
    names = ("endpoint:one", "endpoint:same")
    trials = plan(KIND.cells(REPORT, asked(*names)), 4, seed=1, asked={})
    found, held = tabled.measured(KIND, REPORT, measured(names, gain=0.83), trials), ledger.load(REPORT)
    assert held
    mine = [JudgedSystem(name, asked={"alike": {names[1]: names[0]}}) for name in names]
    claims = {claim.id: claim for system in mine for claim in judge.judge(held, REPORT, found, system)}
    for id in ("change-point-select", "change-update-index", "alike-read-write"):
        assert claims[id].verdict == "not run"
        said = "what it compares runs alike here (endpoint:one and endpoint:same)"
        assert claims[id].reason == said
    assert claims["rises-read-write-v610"].reason != said


def test_open_claims_have_both_versions_measured_again() -> None:
    cells = KIND.cells(REPORT, asked(*PAIR))
    held = ledger.load(REPORT)
    assert held
    trials = plan(cells, 2, seed=1, asked={})
    found = tabled.measured(KIND, REPORT, measured(repetitions=2), trials)
    claims = judge.judge(held, REPORT, found, JudgedSystem("tidb:7.1"))
    wanted = [c.model_copy(update={"verdict": "open", "n": 2, "chances": (0.5,) * 5}) for c in claims
              if c.id in ("alike-read-write", "rises-read-write-v620")]  # fmt: skip
    again = undecided.open_claims(held, wanted, trials, REPORT, None, most=7)
    assert [(claim.id, {cell.system for cell in claim.cells}, len(claim.cells)) for claim in again] == [
        ("alike-read-write", set(PAIR), 6), ("rises-read-write-v620", {"tidb:7.1"}, 3)
    ]  # fmt: skip


def test_the_mean_ratio_is_the_geometric_mean_over_the_levels() -> None:
    """0.97272, 0.95816 and 0.96156 come to the cube root of 0.89619."""
    said = {"id": "a", "statement": "s", "where": "w", "hypothesis": "mean_ratio", "table": "oltp_point_select",
            "metric": "tps", "rows": {"version": "v6.2.0"}, "over": {"rows": {"version": "v6.1.0"}},
            "factor": "threads", "tolerance": 0.03}  # fmt: skip
    (claim,) = ledger.read({"report": NAME, "claims": [said]}).claims
    trials = plan(KIND.cells(REPORT, asked(*PAIR)), 4, seed=1, asked={})
    found = tabled.measured(KIND, REPORT, measured(gain=1.25), trials)
    (result,) = judge.judge(ledger.Ledger(report=NAME, claims=[claim]), REPORT, found, JudgedSystem("tidb:7.1"))
    assert result.published == pytest.approx(0.89619 ** (1 / 3), abs=1e-5)
    assert (result.effect, result.n) == (pytest.approx(1.25), 4)
    assert result.region == (pytest.approx(0.9641 * 0.97, abs=1e-4), pytest.approx(0.9641 / 0.97, abs=1e-4))
    assert result.hypothesis == "the published ratio, within 3%, on average over threads"


# -- figures ----------------------------------------------------------------------------------------------------------


def ratios_of(ran: list[Record], scaling: LevelScaling) -> pd.DataFrame:
    """What the notebook's cell of ratios shows of these records."""
    cells = [cell.source for cell in nbformat.read(ROOT / "notebooks" / f"{NAME}.ipynb", as_version=4).cells]
    (source,) = [source for source in cells if "np.exp(ratios)" in source]
    report = SimpleNamespace(
        published_frame=lambda: published_frame(REPORT),
        figures=lambda *metrics: figures_of(of_records(ran, scaling), metrics),
    )
    *steps, shown = source.strip().splitlines()
    names: dict[str, Any] = {"report": report, "np": np, "pd": pd, "stats": stats}
    exec("\n".join(steps), names)
    return pd.DataFrame(eval(shown, names))


def test_the_notebook_shows_the_ratio_of_two_versions_cell_by_cell() -> None:
    here = {300: 1, 600: 2, 900: 3}
    levels = {table: {"threads": {str(threads): few for threads, few in here.items()}} for table in TABLES}
    scaled = LevelScaling(cores_here=2, cores_published=96, levels=levels)
    ran = [r.model_copy(update={"levels": {**r.levels, "threads": here[int(r.levels["threads"])]}})
           for r in measured(gain=1.5)]  # fmt: skip
    frame = ratios_of(ran, scaled)
    assert len(frame) == 12
    row = frame.loc[("oltp_point_select", 600)]
    # 291395.84 / 304121.47; each repetition's ratio is 1.5, so that nothing is uncertain.
    assert row.to_dict() == {"measured": 1.5, "low": 1.5, "high": 1.5, "n": 4, "published": 0.958}
    # Ratios of 1.5 e^-0.1, 1.5, 1.5 and 1.5 e^0.1: s = 0.08165, t(0.975, 3) = 3.1824, half of it 0.12992.
    rates = {1: np.exp(-0.1), 4: np.exp(0.1)}
    apart = [r.model_copy(update={"summary": with_values(tps=r.summary["tps"].value * rates.get(r.repetition, 1))})
             if r.system == PAIR[1] else r for r in ran]  # fmt: skip
    wide = ratios_of(apart, scaled).loc[("oltp_point_select", 600)]
    assert (wide.measured, wide.low, wide.high) == (1.5, 1.317, 1.708)
    one_only = ratios_of([r for r in ran if r.system == PAIR[0]], scaled)
    assert (one_only.measured.isna().all(), set(one_only.n)) == (True, {0})


def test_the_same_version_in_two_reports_differs_by_more_than_the_two_versions_do() -> None:
    """Point selects, 900 threads: 327,301.23 here, 407,625.11 in the report before: -19.7%, where -3.58% is claimed."""
    found = [f for f in audit(REPORT).findings if f.id.endswith("same_version_again")]
    assert len(found) == 4
    assert {f.severity for f in found} == {"suspicious"}
    assert not [f for f in audit(REPORT).findings if "improvement" in f.id]
