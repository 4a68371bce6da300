"""The checker of a fault campaign finds what is planted; its rounds are balanced; it imports nothing that it checks."""

from __future__ import annotations

import ast
import errno
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fault_campaign import draw as balanced_draw
from fault_campaign import process_table, small_disks
from fault_campaign.catalogue import Fault
from fault_campaign.checker import INVARIANTS, KeptRecords, RoundSeen, RunSeen, check
from kit import until

from benchbook.hosts.agent import Ended

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


@pytest.mark.parametrize("fault", [Fault("stop", "driver"), Fault("stop", "sshd"), Fault("lo down", "")])
def test_of_a_lease_that_ran_out_each_cause_is_named(fault: Fault) -> None:
    assert re.search(fault.named_by, str(Ended("lease", None, None).from_outside("mariadb on db1")))


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


def test_a_seed_draws_the_same_again_and_another_one_something_else() -> None:
    assert balanced_draw.draw(3, 30, lease_s=6) == balanced_draw.draw(3, 30, lease_s=6)
    assert balanced_draw.draw(3, 30, lease_s=6)[:10] == balanced_draw.draw(3, 10, lease_s=6)
    assert balanced_draw.draw(3, 30, lease_s=6) != balanced_draw.draw(4, 30, lease_s=6)


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
