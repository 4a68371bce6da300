"""kill -9 of a run and its kernel, three times in one campaign: nothing is left behind, and only the rest is run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kit import INVENTORY, OFFERED, Home, inventory, until, words_of

from benchbook.campaign.store import Campaign
from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import load_inventory

pytestmark = [pytest.mark.real, pytest.mark.slow]

CAMPAIGN = ["-p", "system=mariadb", "-p", "workloads=[oltp_point_select]", "-p", "threads=[2, 4]",
            "-p", f"rate={OFFERED}"]  # fmt: skip
TRIALS = 4  # two cells, two repetitions
LEASE_S = 6
# By then its hosts have ended what a killed driver left: the limit.
LEFT_BEHIND_S = 30


@pytest.fixture(scope="module")
def killed_home(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[Home]:
    """A lab of its own, with a lease as short as a busy machine keeps; each run begins with a new kernel."""
    home = Home.make(tmp_path_factory.mktemp("killed") / "home", net).without_figures()
    plain = inventory(net)
    hosts = {
        "executor": {"address": f"{net}.21", "roles": ["client"]},
        "db1": {"address": f"{net}.22", "roles": ["tidb", "mysql"]},
    }
    home.write(f"env/hosts/{INVENTORY}.yaml", {**plain, "hosts": hosts, "ssh": {**plain["ssh"], "lease_s": LEASE_S}})
    with home.in_force():
        labs.up(load_inventory(INVENTORY), by_hand=True)
        yield home
        labs.down(load_inventory(INVENTORY))


def kill(run: subprocess.Popen[str]) -> None:
    """The command and its kernel, at once and without a chance to clean up."""
    family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
    assert any("ipykernel" in " ".join(words_of(p)) for p in family), "the kernel is among them"
    for process in family:
        process.kill()
    run.communicate()


def printed(home: Home) -> str:
    """What the sysbench that is running now has printed."""
    running = home.processes("sysbench", " run ", "--config-file=")
    words = [word for process in running for word in words_of(process) if word.startswith("--config-file=")]
    outputs = [Path(word.partition("=")[2]).with_name("stdout") for word in words]
    return "".join(output.read_text() for output in outputs if output.exists())


def moments(home: Home) -> dict[str, object]:
    """When to kill, in this order."""
    return {
        "preparing": lambda: home.processes("sysbench", " prepare ") or home.processes("mariadbd"),
        "after the first record": lambda: len(home.record_files()) >= 1,
        "in mid-trial": lambda: "[ 1s ] thds:" in printed(home),
    }


def kept(home: Home) -> dict[str, int]:
    """When each record was written."""
    return {name: file.stat().st_mtime_ns for name, file in home.record_files().items()}


def whole(home: Home) -> Campaign:
    """The one campaign of this size (other tests only get as far as a plan); every record of it is complete."""
    (campaign,) = [c for c in map(Campaign, home.campaigns()) if len(c.trials) == TRIALS]
    folder = campaign.folder
    for found in campaign.records():
        assert found.status == "done"
        assert {p.name for p in (folder / "trials" / found.id).iterdir()} == {
            "record.json",
            "series.parquet",
            "output.txt",
        }
        assert not campaign.series(found.id).empty
    assert {r.id for r in campaign.records()} == set(home.record_files()), "a partial one is no record"
    return campaign


def test_killed_three_times_a_campaign_still_ends_whole(killed_home: Home) -> None:
    if (recorded := killed_home.path / "data" / "runs").exists():
        # A first try of this test: with its records the moments would come before there is a kernel.
        shutil.rmtree(recorded)
    before: dict[str, int] = {}
    for name, comes in moments(killed_home).items():
        run = killed_home.start(*killed_home.report_words(*CAMPAIGN))
        until(lambda comes=comes, run=run: comes() or run.poll() is not None, name)
        assert run.poll() is None, f"{name}: {run.communicate()[0]}"
        kill(run)
        until(lambda: not killed_home.processes("work/"), f"killed {name}: nothing is left", within_s=LEFT_BEHIND_S)
        now = kept(killed_home)
        assert {trial: now[trial] for trial in before} == before, f"killed {name}: what was recorded is untouched"
        assert len(whole(killed_home).missing()) == TRIALS - len(now) > 0
        before = now
    assert before, "one of the killed runs had recorded a trial"

    status, said = killed_home.report(*CAMPAIGN)
    assert status == 0, said
    campaign = whole(killed_home)
    assert (len(campaign.trials), len(campaign.missing()), len(campaign.failures())) == (TRIALS, 0, 0)
    assert {trial: kept(killed_home)[trial] for trial in before} == before, "what was recorded is not measured again"
    assert said.count("  done ") == TRIALS - len(before), said
    assert not killed_home.processes("work/")


def test_a_trial_whose_server_dies_is_a_failed_one_and_only_it_is_run_again(killed_home: Home) -> None:
    asked = ["-p", "system=mariadb", "-p", "workloads=[oltp_update_index]", "-p", "threads=[2]", "-p", "time_s=8",
             "-p", f"rate={OFFERED}"]  # fmt: skip
    for begun in map(Campaign, killed_home.campaigns()):
        if "oltp_update_index" in begun.trials[0].id:
            # A first try of this test: what it has recorded would not be run again.
            shutil.rmtree(begun.folder)
    earlier = kept(killed_home)
    run = killed_home.start(*killed_home.report_words(*asked))
    until(lambda: "[ 1s ] thds:" in printed(killed_home), "a load is running")
    (server,) = killed_home.processes("mariadbd", "--datadir")
    server.kill()
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 1, said
    assert "FAILED r01-mariadb-oltp_update_index-threads2: mariadb on db1 has died (signal 9)" in said
    campaign = Campaign(killed_home.campaigns()[-1])
    # A run with a failed trial has a page of its own; in front stays the latest that was complete.
    page = killed_home.path / "site" / "tidb_v7_1_3_sysbench" / campaign.id / "index.html"
    assert "has died (signal 9)" in page.read_text()
    assert [r.id for r in campaign.records()] == ["r02-mariadb-oltp_update_index-threads2"]
    (failed,) = campaign.failures()
    assert failed.failure is not None
    assert failed.failure.kind == "SystemFailed"
    done = kept(killed_home)

    status, said = killed_home.report(*asked)
    assert status == 0, said
    assert (len(campaign.records()), campaign.failures()) == (2, [])
    assert said.count("  done ") == 1, said
    now = kept(killed_home)
    assert {trial: now[trial] for trial in (*done, *earlier)} == {**earlier, **done}
