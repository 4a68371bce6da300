"""kill -9 of what a trial rests on, in the middle of its load: at most that trial is lost, and its reason is a name."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psutil
import pytest
from faulty import Victims, loses_what_was_killed, planned, reasons
from kit import INVENTORY, OFFERED, REPORT, Home, until, words_of

from benchbook.campaign import run as campaign_run
from benchbook.hosts import lab as labs
from benchbook.hosts.host import Host
from benchbook.hosts.host_facts import preflight
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.preflight import NO_SPACE
from benchbook.hosts.session import Lease, Session
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.systems import server

pytestmark = [pytest.mark.real, pytest.mark.slow]

WHAT = LoadParameters(
    inventory=INVENTORY, profile="tiny", system="mariadb", workloads=["oltp_point_select"], threads=[2], time_s=4,
    rate=OFFERED,
)  # fmt: skip
# For a kill in the middle of it: a busy machine may be late to hear of its first second.
LONG = WHAT.model_copy(update={"time_s": 10})
LEASE_S = 5


@pytest.fixture
def short(lab: Inventory) -> Inventory:
    """The lab with a lease as short as one may be."""
    return lab.model_copy(update={"ssh": lab.ssh.model_copy(update={"lease_s": LEASE_S})})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries to bring a system up there is less to wait for than on a real host."""
    monkeypatch.setattr(campaign_run, "BEGIN_WAITS_S", (1.0, 5.0))


@pytest.fixture
def victims(lab_home: Home, short: Inventory) -> Iterator[Victims]:
    found = Victims(lab_home, short)
    yield found
    labs.up(short, by_hand=True)
    until(lambda: not lab_home.processes("work/"), "nothing is left on the hosts", within_s=30)


def test_what_is_killed_in_a_load_costs_its_trial_and_no_other(
    victims: Victims, short: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = {
        1: (victims.kill("jobs/sysbench-", supervisor=True), "the supervisor of sysbench on executor was killed"),
        2: (victims.kill("sysbench", " run "), "sysbench on executor was killed by signal 9"),
        3: (victims.kill("mariadbd", "--datadir"), "mariadb on db1 has died (signal 9)"),
        4: (victims.kill("jobs/mariadb-", supervisor=True), "the supervisor of mariadb on db1 was killed"),
        5: (victims.kill("run_probe.py", "/db1/", "jobs/probe-host-"), "probe host on db1 was killed by signal 9"),
        6: (
            victims.kill("/db1/", "jobs/probe-mysql-", supervisor=True),
            "the supervisor of probe mysql on db1 was killed",
        ),
        7: (
            victims.kill_untold("mariadbd", "--datadir", of="jobs/mariadb-"),
            "mariadb on db1 does not serve after 1 s",
        ),
    }
    monkeypatch.setattr(server, "DYING_S", 1.0)
    experiment, campaign = planned(short, LONG, len(killed) + 1)
    loses_what_was_killed(campaign, experiment, killed)


def test_a_load_that_fails_while_the_disk_of_a_server_is_full_names_the_disk(
    victims: Victims, short: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on, and what it answers ("the table is full") does not say so."""
    full = {"db1": NO_SPACE}
    monkeypatch.setattr(Host, "disk_refuses", lambda host, folder: full.get(host.name))
    experiment, campaign = planned(short, LONG, 1)
    experiment.faults = {1: victims.kill("sysbench", " run ")}
    campaign_run.run(campaign, experiment, lambda progress: None, tries=1)
    assert reasons(campaign)[1].startswith("no space is left on the disk of db1: sysbench on executor was killed by")


def test_connections_that_break_cost_nothing_within_the_lease_and_one_trial_beyond_it(
    victims: Victims, short: Inventory
) -> None:
    experiment, campaign = planned(short, WHAT, 4)
    experiment.faults = {1: victims.cut, 2: victims.away(1.0), 3: victims.away(LEASE_S + 4)}
    experiment.coming_up = [victims.cut]
    campaign_run.run(campaign, experiment, lambda progress: None, tries=1)

    assert (experiment.faults, experiment.coming_up) == ({}, [])
    assert list(reasons(campaign)) == [3]
    assert reasons(campaign)[3].startswith("host executor is unreachable, for longer than its lease of 5 s")
    assert [r.repetition for r in campaign.records()] == [1, 2, 4]


def test_connections_that_break_while_a_session_begins_cost_nothing(
    victims: Victims, short: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Session._reserve

    def after_a_cut(session: Session) -> None:
        victims.cut()
        reserve(session)

    monkeypatch.setattr(Session, "_reserve", after_a_cut)
    with Session(short, ["executor", "db1"]) as session:
        victims.cut()
        facts, _ = preflight(session, disk_bytes=0)
    assert sorted(facts) == ["db1", "executor"]


def test_a_host_that_stays_away_ends_the_campaign_with_its_name(victims: Victims, short: Inventory) -> None:
    experiment, campaign = planned(short, WHAT, 3)
    experiment.faults = {1: victims.away(3600)}
    with pytest.raises(campaign_run.CampaignStopped, match="did not come up 3 times in a row: host executor is unreac"):
        campaign_run.run(campaign, experiment, lambda progress: None, tries=1)
    for timer in [t for t in threading.enumerate() if isinstance(t, threading.Timer)]:
        timer.cancel()
    assert list(reasons(campaign)) == [1, 2]


def test_a_lease_that_ran_out_is_named(victims: Victims, short: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, campaign = planned(short, WHAT, 2)
    experiment.time_s = 20
    renew = Lease.renew

    def back() -> None:
        monkeypatch.setattr(Lease, "renew", renew)
        experiment._driver.time_s = 4

    experiment.faults = {1: lambda: monkeypatch.setattr(Lease, "renew", lambda *_: None)}
    experiment.coming_up = [back]
    campaign_run.run(campaign, experiment, lambda progress: None, tries=1)
    # All that ran there ends within a second or two: which of it is found first is no matter.
    assert "was ended by its host: its lease had run out, for no driver renewed it" in reasons(campaign)[1]
    assert [r.repetition for r in campaign.records()] == [2]


def test_a_killed_kernel_is_a_sentence_and_a_page(lab_home: Home) -> None:
    asked = ["system=mariadb", "workloads=[oltp_point_select]", "threads=[3]", "time_s=20", f"rate={OFFERED}"]
    run = lab_home.start(*lab_home.report_words(*(word for one in asked for word in ("-p", one))))
    until(lambda: lab_home.processes("sysbench", " run ") or run.poll() is not None, "a load runs")
    (kernel,) = [p for p in psutil.Process(run.pid).children(recursive=True) if "ipykernel" in " ".join(words_of(p))]
    kernel.kill()
    said, _ = run.communicate(timeout=120)
    assert run.returncode == 1, said
    assert "KernelDied: the notebook's kernel was killed" in said
    assert "Traceback" not in said
    page = (lab_home.path / "site" / REPORT / lab_home.campaigns()[-1].name / "index.html").read_text()
    assert "the notebook&#x27;s kernel was killed" in page or "the notebook's kernel was killed" in page
    until(lambda: not lab_home.processes("work/"), "what ran on the hosts has ended", within_s=30)
