"""go-tpc: its outputs, its command line, how it logs in, and TPC-C's books; real outputs, nothing is run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from kit import ROOT

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.jobs import Command, Ended, remote_program
from benchbook.parameters import check
from benchbook.profiles import load_profile
from benchbook.published.tables import load
from benchbook.reports.kinds import kind_of
from benchbook.workloads import allowed, gotpc_login
from benchbook.workloads.generator import Load, Ran, generator
from benchbook.workloads.gotpc_books import Books
from benchbook.workloads.gotpc_generator import GoTpc, GoTpcSize

FIXTURES = Path(__file__).parent / "fixtures" / "gotpc"
REPORT = "tidb_v7_1_3_tpcc"
MYSQL = Endpoint("127.0.79.11", 4000, "ann", "it's:a\\secret")
POSTGRES = Endpoint("127.0.79.11", 5432, "ann", "it's:a\\secret", protocol="pgsql")


def printed(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text()


def made(text: str) -> Any:
    ended = Ended("exited", 0, None, 1795370000.0, 1795370010.5)
    return GoTpc(GoTpcSize(warehouses=1, time_s=3), [], 1).outcome(
        [Ran("client", Command(["go-tpc"], 1), ended, text, "")]
    )


# -- lines with their times -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stamps() -> ModuleType:
    """The program that runs on client hosts."""
    spec = importlib.util.spec_from_file_location("stamped", remote_program("workloads", "stamped.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_gets_its_time(stamps: ModuleType) -> None:
    assert list(stamps.stamped(["one\n", "[{}]\n"], 5, now=7.25)) == ["7.250 one", "7.250 [{}]"]


def test_of_errors_without_an_end_some_are_kept_and_the_figures_all(stamps: ModuleType) -> None:
    lines = ["error\n"] * 10 + ['[{"a": 1}]\n'] + ["error\n"] * 5
    kept = list(stamps.stamped(lines, 4, now=7.0))
    assert kept == ["7.000 error"] * 4 + ['7.000 [{"a": 1}]', "7.000 and 11 lines more"]


# -- its books --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "said"),
    [
        # 1,000 new orders, of which 990 stayed; 500 payments.
        (Books(30_990, 30_500), ""),
        # Two failed new orders and three failed payments may be there, if only the answer was lost.
        (Books(31_002, 30_503), ""),
        (Books(31_003, 30_500), "1,003 orders were entered by 1,000 new-order transactions (2 failed)"),
        (Books(30_949, 30_500), "949 orders were entered by 1,000 new-order transactions (2 failed)"),
        (Books(30_990, 30_499), "the history has 499 new rows after 500 payments (3 failed)"),
        (Books(30_990, 30_504), "the history has 504 new rows after 500 payments (3 failed)"),
    ],
)
def test_books_after_a_load(after: Books, said: str) -> None:
    assert after.wrong(Books(30_000, 30_000), (1000, 2), (500, 3)) == said


def test_a_few_orders_may_all_be_rolled_back() -> None:
    """Of five, 1% is no number to test by."""
    assert Books(0, 0).wrong(Books(0, 0), (5, 0), (0, 0)) == ""
    assert "0 orders" in Books(0, 0).wrong(Books(0, 0), (6, 0), (0, 0))


# -- how it is asked --------------------------------------------------------------------------------------------------


class Client:
    """A host that files are pushed to and that nothing is run on."""

    name = "client"

    def push(self, local: Path) -> str:
        return f"/there/{local.name}"


def command(*ends: Endpoint, rate: int = 0) -> Command:
    load = GoTpc(GoTpcSize(warehouses=7, time_s=3), ["--ignore-error"], 1)
    load.programs["client"] = "/there/go-tpc"
    return load.command(cast("Any", Client()), ends, Load({"workload": "tpcc"}, 5, 3, rate))


def test_the_command_line_is_the_published_one_with_a_line_a_second() -> None:
    second = Endpoint("127.0.79.12", 4000, "ann", MYSQL.password)
    assert command(MYSQL, second).typed == (
        "python3 /there/stamped.py 500 /there/go-tpc tpcc run --host=127.0.79.11,127.0.79.12 --port=4000 --db=tpcc "
        "--warehouses=7 --threads=5 --driver=mysql --user=benchbook_tpcc --conn-params=tls=false --time=3s "
        "--ignore-error --interval=1s --output=json"
    )


def test_no_password_is_on_it() -> None:
    """The MySQL protocol has an account without one; PostgreSQL's driver reads a file."""
    assert all(MYSQL.password not in command(end).typed for end in (MYSQL, POSTGRES))
    assert (command(MYSQL).env, command(MYSQL).secrets) == ({}, {})
    asked = command(POSTGRES)
    assert "--driver=postgres --user=ann --conn-params=sslmode=disable" in asked.typed
    assert asked.env == {"PGPASSFILE": "pgpass"}
    assert asked.secrets == {"pgpass": "*:*:*:ann:it's\\:a\\\\secret\n"}


def test_tls_is_what_the_inventory_says() -> None:
    """Of itself go-tpc has it wherever the server offers it, and never for PostgreSQL."""
    safe = [Endpoint(end.address, end.port, end.user, tls=True, protocol=end.protocol) for end in (MYSQL, POSTGRES)]
    said = [gotpc_login.login(end).words[-1] for end in safe]
    assert said == ["--conn-params=tls=true", "--conn-params=sslmode=require"]


def test_servers_on_two_ports_and_an_offered_rate_are_refused() -> None:
    with pytest.raises(BadInput, match="one port on all servers"):
        command(MYSQL, POSTGRES)
    with pytest.raises(BadInput, match="go-tpc offers no rate"):
        command(MYSQL, rate=100)


@pytest.mark.parametrize(("option", "ok"), [("--wait", True), ("--weight=45,43,4,4,4", True), ("--pprof=:80", False)])
def test_a_report_may_choose_what_is_known(option: str, ok: bool) -> None:
    published = load(REPORT, ROOT / "data" / "published")
    design = [each.model_copy(update={"options": [option]}) for each in published.report.design]
    if ok:
        allowed.check(GoTpc, design, [], Path("report.yaml"))
    else:
        with pytest.raises(BadInput, match="go_tpc does not know this option"):
            allowed.check(GoTpc, design, [], Path("report.yaml"))


# -- what declares it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "warehouses"), [("smoke", 1), ("lab", 10), ("paper", 1000)])
def test_every_profile_has_a_size_for_it(name: str, warehouses: int) -> None:
    assert generator("go_tpc").size_in(load_profile(name)).warehouses == warehouses


def test_a_run_builds_its_load_generator_and_no_other_run_does() -> None:
    published = load(REPORT, ROOT / "data" / "published")
    kind = kind_of(REPORT)
    assert kind.builds(published, check(kind.Parameters, REPORT, {"inventory": "lab_tpcc"})) == ["tidb", "gotpc"]
    beside = {"inventory": "lab_tpcc", "systems": ["mariadb", "postgresql"]}
    assert kind.builds(published, check(kind.Parameters, REPORT, beside)) == ["gotpc"]
    other = load("pgcat_pgbench", ROOT / "data" / "published")
    assert kind.builds(other, check(kind.Parameters, REPORT, beside)) == []


def test_a_program_that_the_inventory_names_is_not_built() -> None:
    own = load_inventory("lab_tpcc").model_copy(update={"programs": {"go-tpc": "/opt/go-tpc"}})
    assert (GoTpc.builds_for(load_inventory("lab_tpcc")), GoTpc.builds_for(own)) == (("gotpc",), ())
