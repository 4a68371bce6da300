"""The checker of a fault campaign finds what is planted; its rounds are balanced; it imports nothing that it checks."""

from __future__ import annotations

import ast
import errno
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest
from fault_campaign import __main__ as faults_command
from fault_campaign import catalogue as fault_catalogue
from fault_campaign import draw as balanced_draw
from fault_campaign import process_table, small_disks, victims
from fault_campaign import results as fault_results
from fault_campaign.catalogue import PHASES, Fault, Phase
from fault_campaign.checker import INVARIANTS, KeptRecords, RoundSeen, RunSeen, check
from fault_campaign.home import CLIENT, SERVER, RoundHome
from fault_campaign.moments import RunSigns, moments
from fault_campaign.results import Broken, FaultResults, RoundResult
from kit import Home, until
from rich.console import Console

from benchbook.campaign.progress import Progress
from benchbook.errors import BadInput, NotWritten

FAULTS = Path(process_table.__file__).parent
TIME_S = 3
# As sysbench 1.0.20 prints them.
LINE = (
    "[ {0}s ] thds: 2 tps: 100.00 qps: 100.00 (r/w/o: 100.00/0.00/0.00) lat (ms,95%): 0.52 err/s: 0.00 reconn/s: 0.00"
)


def campaign(home: Path, trials: list[str]) -> Path:
    """A project folder's one campaign, with a plan of these trials."""
    folder = home / "data" / "runs" / "a_report" / "20261122-abc"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({"trials": [{"id": trial} for trial in trials]}))
    return folder


def record(folder: Path, trial: str, started: float, **changes: object) -> Path:
    """A whole record of a load of three seconds."""
    made = folder / "trials" / trial
    made.mkdir(parents=True)
    said = {"id": trial, "status": "done", "started": started, "ended": started + TIME_S, **changes}
    (made / "record.json").write_text(json.dumps(said))
    (made / "output.txt").write_text("\n".join(LINE.format(second) for second in (1, 2, 3)))
    rows = [{"t": started + s, "host": "a", "source": "sysbench", "metric": "tps", "value": 1.0} for s in (1, 2, 3)]
    pd.DataFrame(rows).to_parquet(made / "series.parquet", index=False)
    return made


@pytest.fixture
def seen(tmp_path: Path) -> RoundSeen:
    """A round in which all holds: the fault cost one trial, which says why, and the rerun recorded it."""
    home = tmp_path / "home"
    folder = campaign(home, ["one", "two"])
    record(folder, "one", 100.0)
    record(folder, "two", 200.0)
    failed = folder / "failed" / "two.1"
    failed.mkdir(parents=True)
    why = {"kind": "SystemFailed", "message": "mariadb on db1 has died (signal 9)", "tail": []}
    (failed / "record.json").write_text(json.dumps({"id": "two.1", "status": "failed", "failure": why}))
    runs = [
        RunSeen("the run with the fault", 1, "FAILED two: mariadb on db1 has died"),
        RunSeen("rerun 1", 0, "done", met=False),
    ]
    return RoundSeen([home], runs, TIME_S, lost=1, named_by="mariadb", secrets=["hunter22"])


def broken(seen: RoundSeen) -> set[str]:
    return {violation.invariant for violation in check(seen)}


def trials(seen: RoundSeen) -> Path:
    return seen.homes[0] / "data" / "runs" / "a_report" / "20261122-abc" / "trials"


def rewrite(seen: RoundSeen, trial: str, **changes: object) -> None:
    path = trials(seen) / trial / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def faulted(seen: RoundSeen, **changes: object) -> RoundSeen:
    """The round with another account of the run that met the fault."""
    return replace(seen, runs=[replace(seen.runs[0], **changes), *seen.runs[1:]])  # type: ignore[arg-type]


def test_a_round_in_which_all_holds_has_no_violation(seen: RoundSeen) -> None:
    assert check(seen) == []


def _gone(seen: RoundSeen) -> RoundSeen:
    (trials(seen) / "two").rename(trials(seen) / "two.partial")
    return seen


def _cut_series(seen: RoundSeen) -> RoundSeen:
    path = trials(seen) / "two" / "series.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    return seen


def _fewer_lines(seen: RoundSeen) -> RoundSeen:
    (trials(seen) / "two" / "output.txt").write_text(LINE.format(1))
    return seen


def _times(seen: RoundSeen) -> RoundSeen:
    rewrite(seen, "two", ended=199.0)
    return seen


def _secret_in_a_record(seen: RoundSeen) -> RoundSeen:
    (trials(seen) / "one" / "output.txt").open("a").write("\nmysql-password=hunter22")
    return seen


def _two_drivers(seen: RoundSeen) -> RoundSeen:
    second = seen.homes[0].with_name("second")
    record(campaign(second, ["other"]), "other", 202.0)
    return replace(seen, homes=[*seen.homes, second])


@pytest.mark.parametrize(
    ("invariant", "plant"),
    [
        ("complete", _gone),
        ("whole", _cut_series),
        ("whole", _fewer_lines),
        ("whole", _times),
        ("secret", _secret_in_a_record),
        ("secret", lambda seen: faulted(seen, output="mariadb said hunter22")),
        ("secret", lambda seen: replace(seen, command_lines={"sysbench --mysql-password=hunter22"})),
        ("apart", _two_drivers),
        ("traceback", lambda seen: faulted(seen, output="mariadb\nTraceback (most recent call last):\n  …")),
        ("traceback", lambda seen: faulted(seen, output='mariadb\n  File "/x/run.py", line 3, in run\n')),
        ("one trial", lambda seen: replace(seen, lost=2)),
        ("clean", lambda seen: replace(seen, left=["mariadbd --datadir=/x"])),
        ("named", lambda seen: replace(seen, named_by="supervisor")),
        ("exit", lambda seen: faulted(seen, status=2)),
        ("exit", lambda seen: faulted(seen, status=-6)),
        ("exit", lambda seen: faulted(seen, status=None)),
        ("exit", lambda seen: faulted(seen, paged=False)),
    ],
)
def test_the_checker_finds_what_is_planted(
    seen: RoundSeen, invariant: str, plant: Callable[[RoundSeen], RoundSeen]
) -> None:
    assert broken(plant(seen)) == {invariant}


# Of rounds beside other tests, on two cores: the machine stood still, and the fault had spoilt nothing.
LATE = [
    "the supervisor of probe-mysql on db1 stood still for 1.7 s",
    "db1 (probe mysql) stood still for at least 1.4 of 3.3 s: its heartbeat came that late",
    "no sample of host executor for 2.1 s, where one comes every 1 s",
    "20% of the CPU was used by programs that are no part of the run, most of it by python",
]


def disturbed(seen: RoundSeen, why: list[str]) -> RoundSeen:
    """The round in which what the fault cost was a load from 150 to 153 that was disturbed."""
    record(trials(seen).parent, "two.1", 150.0, status="disturbed", disturbed=why)
    return faulted(seen, status=0, output="done")


@pytest.fixture
def calm(seen: RoundSeen) -> RoundSeen:
    """The round before anything went wrong in it."""
    shutil.rmtree(trials(seen).parent / "failed")
    return seen


@pytest.mark.parametrize(
    ("fault", "lasted", "why", "unnamed"),
    [
        (Fault("stop", "driver"), (148.0, 157.0), LATE, False),
        (Fault("stop", "kernel"), (148.0, 157.0), LATE, False),
        (Fault("stop", "driver"), (148.0, 157.0), [*LATE, "sysbench on executor was stopped (SIGSTOP) for 1 s"], True),
        (Fault("stop", "probe"), (148.0, 157.0), LATE[:1], True),
        (Fault("stop", "probe"), (148.0, 157.0), LATE[3:], False),
        # A load that had ended before, and one that began afterwards.
        (Fault("stop", "probe"), (153.1, 157.0), LATE[:1], False),
        (Fault("stop", "probe"), (140.0, 149.9), LATE[:1], False),
        (Fault("kill", "probe"), (140.0, math.inf), LATE[:1], True),
    ],
)
def test_a_machine_that_is_busy_is_not_the_fault(
    calm: RoundSeen, fault: Fault, lasted: tuple[float, float], why: list[str], unnamed: bool
) -> None:
    named = "no such name" if fault.target == "probe" else fault.named_by
    told = replace(disturbed(calm, why), named_by=named, lasted=lasted, on_hosts=fault.on_hosts)
    assert broken(told) == ({"named"} if unnamed else set())


def test_a_record_that_is_rewritten_or_taken_away_is_found(seen: RoundSeen) -> None:
    kept = KeptRecords()
    kept.look(seen.homes)
    kept.look(seen.homes)
    assert kept.said == []
    rewrite(seen, "one", exit_status=0)
    kept.look(seen.homes)
    assert kept.said == ["one was rewritten"]
    assert broken(replace(seen, rewritten=kept.said)) == {"kept"}

    (trials(seen) / "two").rename(trials(seen) / "elsewhere.partial")
    kept.look(seen.homes)
    assert kept.said == ["one was rewritten", "two was taken away"]


def test_every_invariant_has_a_planted_violation() -> None:
    (mark,) = test_the_checker_finds_what_is_planted.pytestmark
    assert {invariant for invariant, _ in mark.args[1]} | {"kept"} == set(INVARIANTS)


def test_an_exit_that_the_fault_allows_is_no_violation(seen: RoundSeen) -> None:
    assert check(faulted(seen, status=2, may_refuse=True)) == []
    assert check(faulted(seen, status=-9, killed=True)) == []


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that only its folder tells: neither its command line nor its environment names it."""
    with subprocess.Popen(
        ["sh", "-c", "echo up; sleep 60; :"], cwd=tmp_path, stdout=subprocess.PIPE, env={}
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        for one in process_table.of_folder(tmp_path):
            subprocess.run(["kill", "-9", str(one.pid)], check=False)


def test_an_orphan_is_found_by_its_folder_with_its_children(orphan: subprocess.Popen[bytes], tmp_path: Path) -> None:

    def seen() -> list[process_table.Running]:
        """Both, once the child is no copy of the shell any more."""
        there = process_table.of_folder(tmp_path)
        return there if "sleep 60" in [one.words for one in there] else []

    found = until(seen, "the shell and its child")
    assert len(found) == 2
    assert {(one.pid, one.parent == orphan.pid) for one in found} >= {(orphan.pid, False)}
    assert [one.words for one in found if one.parent == orphan.pid] == ["sleep 60"]
    assert not any(one.is_host for one in found)
    assert process_table.of_folder(tmp_path.with_name(tmp_path.name[:-1])) == [], "a folder whose name begins alike"


def test_an_sshd_that_listens_is_a_host_and_its_sessions_are_not() -> None:
    listening = "sshd: /usr/sbin/sshd -f /x/.lab/faults/db1/sshd_config -E /x/log [listener] 0 of 100-100 startups"
    assert process_table.Running(2, 1, listening).is_host
    assert not process_table.Running(3, 2, "sshd: root@notty").is_host
    assert not process_table.Running(4, 3, "cp /x/.lab/faults/db1/sshd_config /y").is_host


@pytest.mark.parametrize("module", ["checker", "process_table"])
def test_the_checker_shares_no_code_with_what_it_checks(module: str) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse((FAULTS / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            names.add(str(node.module).partition(".")[0])
    assert names <= {*sys.stdlib_module_names, "pyarrow"}


# -- the draw ---------------------------------------------------------------------------------------------------------


def test_every_phase_gets_as_many_rounds_and_every_fault_of_a_phase_as_many() -> None:
    drawn = balanced_draw.draw(3, 100, lease_s=6)
    assert Counter(one.phase for one in drawn) == dict.fromkeys(PHASES, 20)
    for phase in PHASES:
        counts = Counter(one.fault for one in drawn if one.phase == phase)
        assert max(counts.values()) - min(counts[fault] for fault in fault_catalogue.of_phase(phase)) <= 1
    assert [one.number for one in drawn] == list(range(1, 101))
    assert all(one.moment in moments(one.phase) and one.moment.has(one.fault) for one in drawn)


def test_a_seed_draws_the_same_again_and_another_one_something_else() -> None:
    assert balanced_draw.draw(3, 30, lease_s=6) == balanced_draw.draw(3, 30, lease_s=6)
    assert balanced_draw.draw(3, 30, lease_s=6)[:10] == balanced_draw.draw(3, 10, lease_s=6)
    assert balanced_draw.draw(3, 30, lease_s=6) != balanced_draw.draw(4, 30, lease_s=6)


def test_what_cannot_be_made_here_is_not_drawn() -> None:
    drawn = balanced_draw.draw(3, 100, lease_s=6, without=fault_catalogue.ON_DISKS)
    assert {one.fault.kind for one in drawn}.isdisjoint(fault_catalogue.ON_DISKS)


def test_every_fault_of_a_phase_has_a_moment_at_which_it_can_be_made() -> None:
    for phase in PHASES:
        for fault in fault_catalogue.of_phase(phase):
            assert any(moment.has(fault) for moment in moments(phase)), (phase, fault)


def test_the_round_of_a_second_driver_is_played_alone() -> None:
    drawn = balanced_draw.draw(3, 100, lease_s=6)
    second = next(one for one in drawn if one.fault.kind == fault_catalogue.SECOND)
    one, other = [one for one in drawn if one.fault.kind == fault_catalogue.KILL][:2]
    assert faults_command.may_begin(second, [], 2)
    assert not faults_command.may_begin(second, [one], 2)
    assert not faults_command.may_begin(one, [second], 2)
    assert faults_command.may_begin(one, [other], 2)
    assert not faults_command.may_begin(one, [other], 1)


def test_who_is_ended_by_the_fault_need_not_say_why() -> None:
    assert Fault("kill", "driver").named_by == ""
    silent = {fault.kind for phase in PHASES for fault in fault_catalogue.of_phase(phase)[1:] if not fault.named_by}
    assert silent == {fault_catalogue.HOG, fault_catalogue.OTHER_USER}, "and what spoils nothing need not be named"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("kill", "server"), "mariadb on db1 has died (signal 9)"),
        (Fault("stop", "server"), "mariadb-8faba0d8 on db1 was stopped (SIGSTOP) for 2.0 of 3.0 s"),
        (Fault("kill", "load generator"), "sysbench on executor killed by signal 9"),
        (Fault("kill", "load generator"), "sysbench prepare on executor was killed by signal 9"),
        (Fault("stop", "driver"), "sysbench on executor ended by its host: the driver was away"),
        (Fault("kill", "sshd"), "host db1 is unreachable, for longer than its lease of 6 s"),
        (Fault("key swap", ""), "hosts.db1: the host key is not the one that is known"),
        (Fault("disk full", ""), "plan.json cannot be written: No space left on device"),
    ],
)
def test_a_reason_is_recognised_by_the_component_that_it_names(fault: Fault, said: str) -> None:
    assert re.search(fault.named_by, said, re.IGNORECASE)


@pytest.mark.parametrize("target", ["server", "load generator", "driver", "supervisor", "probe"])
def test_names_of_trials_and_of_files_are_no_reason(target: str) -> None:
    said = """tidb_v7_1_3_sysbench: profile tiny, inventory faults
  1/4  FAILED r01-mariadb-oltp_point_select-threads2: status 1
FATAL: /usr/share/sysbench/oltp_common.lua:349: connection creation failed, --db-driver=mysql
artefacts/0589/agent.py, artefacts/0589/run_probe.py"""
    assert not re.search(Fault("kill", target).named_by or "driver was", said, re.IGNORECASE)


# -- signs ------------------------------------------------------------------------------------------------------------


def job(home: RoundHome, host: str, name: str, **files: str) -> Path:
    """The folder of a started job, as its host's supervisor leaves it."""
    folder = home.work(host) / "jobs" / name
    folder.mkdir(parents=True)
    for file, text in {"pid": '{"supervisor": 1, "group": 2}', **files}.items():
        (folder / file).write_text(text)
    return folder


def came(phase: Phase, home: RoundHome, signs: RunSigns, records: int = 0) -> list[str]:
    """Names of the phase's moments whose sign is there."""
    return [moment.name for moment in moments(phase) if moment.sign(signs, records)]


def test_a_load_is_told_by_its_job_and_by_what_it_prints(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    job(home, CLIENT, "sysbench-old")
    signs = RunSigns(home)
    assert came("load", home, signs) == [], "a job of an earlier run"
    load = job(home, CLIENT, "sysbench-new", stdout="Initializing worker threads...")
    assert came("load", home, signs) == ["the load has started"]
    assert came("load", home, signs, records=1) == [], "the second trial is meant"
    (load / "stdout").write_text(LINE.format(1))
    assert came("load", home, signs) == ["the load has started", "the load has told its first second"]
    assert came("write", home, signs) == []
    (load / "status.json").write_text("{}")
    assert came("load", home, signs) == []
    assert came("write", home, signs) == ["the load has ended"]


def test_an_attempt_that_failed_is_told_before_the_run_gives_up(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    failed = home.runs / "report" / "campaign" / "failed"
    (failed / "one.1").mkdir(parents=True)
    (failed / "one.1" / "record.json").write_text("{}")
    signs = RunSigns(home)
    assert not signs.failed(), "an attempt of an earlier run"
    (failed / "one.2").mkdir()
    (failed / "one.2" / "record.json").write_text("{}")
    assert signs.failed()


def test_a_record_is_told_while_it_is_written_and_just_after(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    signs, trials = RunSigns(home), home.runs / "report" / "campaign" / "trials"
    written = trials / "one.partial"
    written.mkdir(parents=True)
    assert came("write", home, signs) == ["the record is being written"]
    assert came("write", home, signs, records=1) == []
    (written / "record.json").write_text("{}")
    assert signs.records() == 0
    written.rename(trials / "one")
    assert (signs.records(), signs.being_written()) == (1, False)
    assert came("write", home, signs) == ["the record is being written"]


def test_connecting_and_preparing_are_told_by_folders_and_jobs(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    signs = RunSigns(home)
    (home.work(CLIENT) / "jobs").mkdir(parents=True)
    assert came("connect", home, signs) == ["the command has started"]
    (home.work(SERVER) / "jobs").mkdir(parents=True)
    assert came("connect", home, signs) == ["the command has started", "both hosts are reached"]

    assert came("prepare", home, signs) == []
    (home.work(SERVER) / "mariadb" / "data").mkdir(parents=True)
    job(home, SERVER, "mariadb-1")
    job(home, CLIENT, "prepare-1")
    (home.work(SERVER) / "mariadb" / "datasets" / "abc.partial").mkdir(parents=True)
    assert came("prepare", home, signs) == [moment.name for moment in moments("prepare")]


def test_a_reset_is_told_by_the_progress_and_by_the_third_server(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    signs, told = RunSigns(home), tmp_path / "tmp" / "benchbook-x" / "progress.jsonl"
    for trial in ("one", "two"):
        record(home.runs / "report" / "campaign", trial, 100.0)
    told.parent.mkdir(parents=True)
    said = Progress(total=4, done=2, trial="three", step="bringing mariadb to its starting state")
    told.write_text("".join(json.dumps(asdict(each)) + "\n" for each in (replace(said, step=""), said)))
    assert came("reset", home, signs, records=2) == ["the second block is begun"]
    assert came("reset", home, signs, records=3) == []
    for number in (1, 2, 3):
        job(home, SERVER, f"mariadb-{number}")
    assert len(came("reset", home, signs, records=2)) == 2
    assert not signs.failed()
    told.write_text(json.dumps(asdict(replace(said, failed=1))) + "\n")
    assert signs.failed()


def test_jobs_are_hit_by_the_numbers_that_their_hosts_keep(tmp_path: Path) -> None:
    home = RoundHome(tmp_path, "127.9.9")
    signs, here = RunSigns(home), {"supervisor": os.getppid(), "group": os.getpid()}
    folder = job(home, CLIENT, "sysbench-1", pid=json.dumps(here))
    dice = random.Random(1)
    generator = balanced_draw.settle(dice, 1, "load", Fault("kill", "load generator"), 6)
    supervisor = balanced_draw.settle(dice, 2, "load", Fault("kill", "supervisor"), 6)
    server = balanced_draw.settle(dice, 3, "load", Fault("kill", "server"), 6)
    assert victims.victims(generator, signs, 1) == [os.getpid()]
    assert victims.victims(supervisor, signs, 1) == [os.getppid()]
    assert victims.victims(server, signs, 1) == []
    assert victims.victims(replace(server, fault=Fault("stop", "driver")), signs, 77) == [77]
    (folder / "status.json").write_text("{}")
    assert victims.victims(generator, signs, 1) == [], "it has ended"


# -- disks ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB, with one file that stays open for writing."""
    if why := small_disks.why_not():
        pytest.skip(why)
    small_disks.mount(tmp_path, 4 << 20)
    with (tmp_path / "open").open("w"):
        yield tmp_path
    small_disks.unmount(tmp_path)
    assert not tmp_path.is_mount()


@pytest.mark.parametrize(
    ("kind", "said"),
    [("disk full", errno.ENOSPC), ("inodes full", errno.ENOSPC), ("read-only", errno.EROFS)],
)
def test_a_spoilt_disk_takes_nothing_until_it_is_mended(disk: Path, kind: str, said: int) -> None:
    mend = small_disks.spoil(kind, disk)
    with pytest.raises(OSError) as refused:  # noqa: PT011 - its number is asserted
        (disk / "new").write_bytes(b"x" * 8192)
    assert refused.value.errno == said
    mend()
    (disk / "new").write_bytes(b"x" * 8192)
    assert {path.name for path in disk.iterdir()} == {"open", "new"}


# -- the command ------------------------------------------------------------------------------------------------------


def result(number: int, **changes: object) -> RoundResult:
    made = {
        "round": number, "phase": "load", "fault": "kill", "target": "server", "moment": "the load has started",
        "records": 0, "place": "client", "held_s": 2.0, "hit": True, "outcome": "held", "exits": [1, 0],
        "trials_lost": 1, "clean_s": 1.0, "seconds": 30.0,
    }  # fmt: skip
    return RoundResult.model_validate({**made, **changes})


def test_results_count_phases_violations_losses_and_times() -> None:
    found = FaultResults(seed=1, lease_s=6.0)
    bad = [Broken(invariant="exit", what="ended with 2 <b>"), Broken(invariant="exit", what="again")]
    for one in (
        result(2, clean_s=9.0, trials_lost=0, violations=bad, outcome="violated"),
        result(1),
        result(3, outcome="missed", hit=False, clean_s=50.0, phase="write"),
    ):
        found = found.with_round(one)
    assert [one.round for one in found.rounds] == [1, 2, 3]
    summary = found.summary
    assert summary.per_phase == {"connect": 0, "prepare": 0, "reset": 0, "load": 2, "write": 1}
    assert {name: count for name, count in summary.violations.items() if count} == {"exit": 2}
    assert (summary.trials_lost, summary.missed) == ({0: 1, 1: 1}, 1)
    assert (summary.clean_p50_s, summary.clean_max_s) == (5.0, 9.0), "a missed round says nothing of its hosts"


@pytest.mark.parametrize(("said", "seconds"), [("90s", 90), ("20min", 1200), ("1.5 h", 5400)])
def test_a_budget_is_a_duration(said: str, seconds: float) -> None:
    assert faults_command.seconds_of(said) == seconds


def test_a_budget_without_a_unit_is_refused() -> None:
    with pytest.raises(BadInput, match=r"--budget: not a duration \(got '20'\)\. Fix: write a number and s, min or h"):
        faults_command.seconds_of("20")


@pytest.mark.parametrize("number", [0, 4])
def test_a_round_that_is_not_drawn_is_refused(home: Home, number: int) -> None:
    """Nothing was played, and `violations: none` was said, with exit status 0."""
    with pytest.raises(
        BadInput, match=rf"--round: no round of the draw \(got '?{number}'?\)\. Fix: name one of 1 to 3"
    ):
        faults_command.run(1, 3, "1min", 1, [2, number], Console(quiet=True))


def test_results_that_cannot_be_written_are_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder")
    with pytest.raises(NotWritten, match=r"runs/faults.json cannot be written"):
        fault_results.write(FaultResults(seed=1, lease_s=6.0), tmp_path / "runs" / "faults.json")
