"""Host settings for the time of a run: set, said, and put back however the run ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from kit import Home, until

from benchbook.display import differences
from benchbook.errors import HostUnusable, SettingsLost
from benchbook.hosts import host_facts
from benchbook.hosts.agent import remote_program
from benchbook.hosts.host_facts import survey
from benchbook.hosts.host_models import HostFacts
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.remote import machine
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again, tune
from benchbook.probes.watch import watching

MACHINE = remote_program("hosts", "machine.py")
SLEEPS = list(Path("/sys/devices/system/cpu/cpu0/cpuidle").glob("state[0-9]*"))
ASLEEP = [state for state in SLEEPS if (state / "name").read_text() != "POLL\n"]
WAKES_WITHIN = Path("/dev/cpu_dma_latency")
REPORTS_FROM = Path("/sys/module/page_reporting/parameters/page_reporting_order")
SWAPPINESS = Path("/proc/sys/vm/swappiness")
needs_root = pytest.mark.skipif(not os.access(SWAPPINESS, os.W_OK), reason="host settings are root's to change")


# -- on a tree like /sys: this machine has no governor to set -------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, value in {
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(value + "\n")
    return tmp_path


def start(tree: Path, *knobs: str, every: str = "yes", sudo: str = "no") -> subprocess.Popen[str]:
    command = [sys.executable, str(MACHINE), "set", str(tree), sudo, every, *knobs]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def holding(tree: Path, *knobs: str, every: str = "yes") -> Iterator[tuple[dict[str, Any], psutil.Process]]:
    """While the block runs, the settings are held: what the program says of them, and the process that holds them."""
    running = start(tree, *knobs, every=every)
    assert running.stdout is not None
    said = json.loads(running.stdout.readline())
    try:
        yield said, psutil.Process(running.pid).children()[0]
    finally:
        running.terminate()
        running.communicate()


def kill_holder(tree: Path, *knobs: str) -> None:
    """As the machine's end does, or kill -9: nothing is put back."""
    with holding(tree, *knobs) as (_, holder):
        holder.kill()


def refused(tree: Path, *knobs: str, sudo: str = "no", **environment: str) -> str:
    """What is said where nothing can be set."""
    command = [sys.executable, str(MACHINE), "set", str(tree), sudo, "yes", *knobs]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr.strip()


def left_in(tree: Path) -> list[list[str]]:
    done = subprocess.run([sys.executable, str(MACHINE), "left", str(tree)], capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(done.stdout)
    return found


def contents(tree: Path) -> list[str]:
    return [path.read_text().strip() for path in sorted((tree / "sys").rglob("*")) if path.is_file()]


def write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


THP = {"was": "always", "now": "never"}
ENABLED = "sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_settings_are_held_until_the_program_ends_and_then_put_back(tree: Path, number: signal.Signals) -> None:
    with holding(tree, "governor", "turbo", "thp") as (said, holder):
        assert said == {
            "governor": {"was": "performance, powersave", "now": "performance"},
            "turbo": {"was": "on", "now": "off"},
            "thp": THP,
        }
        assert contents(tree) == ["performance", "performance", "1", "never"]
        holder.parent().send_signal(number)
        until(lambda: contents(tree) == ["powersave", "performance", "0", "always"], "what was there before is back")


@pytest.mark.parametrize(
    ("flags", "within_us", "now"), [("fpu vme", 2, "sleep lightly (C1)"), ("fpu hypervisor", 0, "stay awake")]
)
def test_cpus_sleep_as_lightly_as_may_be_while_the_limit_is_held(
    tree: Path, flags: str, within_us: int, now: str
) -> None:
    limit, states = tree / "dev" / "cpu_dma_latency", "sys/devices/system/cpu/cpu0/cpuidle"
    write(tree, {"proc/cpuinfo": f"model name\t: A [CPU]\nflags\t\t: {flags}\n"})
    limit.parent.mkdir()
    # As a kernel tells it to whom nobody has asked: 2,000 s, in microseconds.
    limit.write_bytes(struct.pack("i", 2_000_000_000))
    assert refused(tree, "idle") == "idle: this host does not expose it", "a kernel that asks nobody how to sleep"
    # The lightest of them somebody has disabled.
    sleeps = (("POLL", 0, 0), ("C0.2", 1, 1), ("C1", 2, 0), ("C6", 133, 0))
    for number, (name, latency_us, disabled) in enumerate(sleeps):
        about = {"name": name, "latency": latency_us, "disable": disabled}
        write(tree, {f"{states}/state{number}/{file}": f"{value}\n" for file, value in about.items()})
    with holding(tree, "idle", "thp") as (said, holder):
        assert said["idle"] == {"was": "may sleep", "now": now}
        assert struct.unpack("i", limit.read_bytes()) == (within_us,)
        assert limit in [each.readlink() for each in Path(f"/proc/{holder.pid}/fd").iterdir()]


@pytest.mark.parametrize(
    ("reports_from", "was", "meanwhile"),
    [("9", "given back when free", "11"), ("4294967295", "kept", "4294967295"), ("-1", "kept", "-1")],
)
def test_a_virtual_machine_keeps_its_memory_while_the_run_lasts(
    tree: Path, reports_from: str, was: str, meanwhile: str
) -> None:
    write(tree, {"proc/cpuinfo": "flags\t\t: fpu vme\n"})
    with holding(tree, "memory") as (said, _):
        assert said == {"memory": {"was": "kept", "now": "kept"}}, "nobody takes it"
    # Linux 6.18: free blocks of 1 to 1,024 pages. Programs may still have 300 MiB: a third of it is used once.
    # The order is what it is on a Firecracker machine, and where no hypervisor has asked for reports.
    order = "sys/module/page_reporting/parameters/page_reporting_order"
    write(tree, {
        "proc/cpuinfo": "flags\t\t: fpu hypervisor\n",
        "proc/buddyinfo":
            "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 \n"
            "Node 0, zone    DMA32      1      1      4      2      5      4      3      3      4      2    752 \n",
        "proc/meminfo": "MemTotal:  999999 kB\nMemFree:  1 kB\nMemAvailable:  307200 kB\n",
        order: f"{reports_from}\n",
    })  # fmt: skip
    with holding(tree, "memory") as (said, _):
        assert said == {"memory": {"was": was, "now": "kept, 0.1 GB of it used once"}}
        assert (tree / order).read_text().strip() == meanwhile
    assert (tree / order).read_text().strip() == reports_from, "what was there before is back"


@pytest.mark.parametrize(
    ("reports_from", "said"), [("9", "on"), ("11", "off"), ("4294967295", "off"), ("-1", "off"), ("", "not exposed")]
)
def test_memory_is_given_back_only_where_a_hypervisor_asks_for_it(tree: Path, reports_from: str, said: str) -> None:
    write(tree, {"proc/buddyinfo": f"Node 0, zone DMA {'0 ' * 11}\n"})
    if reports_from:
        write(tree, {str(REPORTS_FROM).strip("/"): reports_from})
    assert machine.page_reporting(str(tree)) == said


def test_a_cpu_that_is_gone_at_the_end_keeps_no_other_from_what_it_had(tree: Path) -> None:
    first, second = (tree / f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor" for n in (0, 1))
    second.write_text("ondemand\n")
    running = start(tree, "thp", "governor")
    assert running.stdout is not None
    running.stdout.readline()
    second.unlink()
    second.parent.rmdir()
    running.terminate()
    _, complaint = running.communicate()
    assert (first.read_text().strip(), contents(tree)[-1]) == ("powersave", "always"), "the others have their own again"
    assert f"{second} is not ondemand again: No such file or directory" in complaint


def test_no_more_memory_is_used_than_a_container_has(tree: Path) -> None:
    limit = "sys/fs/cgroup/memory.max"
    old = {"sys/fs/cgroup/memory/memory.limit_in_bytes": "max\n", "proc/meminfo": "MemAvailable:  99999999 kB\n"}
    write(tree, {**old, limit: "600000000\n"})
    assert machine.to_touch(str(tree)) == 200_000_000
    write(tree, {limit: "max\n"})
    assert machine.to_touch(str(tree)) == 4 << 30


def test_what_two_labs_of_a_machine_set_is_put_back_by_the_last(tree: Path) -> None:
    with holding(tree, "thp") as (one, _):
        with holding(tree, "thp") as (other, _):
            assert one == other == {"thp": THP}
        assert contents(tree)[-1] == "never", "the first lab is measured"
    assert contents(tree)[-1] == "always"
    # What is set by nobody any more is whatever the machine's owner makes of it.
    write(tree, {ENABLED: "madvise\n"})
    with holding(tree, "thp") as (again, _):
        assert again == {"thp": {"was": "madvise", "now": "never"}}
    assert contents(tree)[-1] == "madvise"


@pytest.mark.parametrize(("meanwhile", "was"), [("", "always"), ("madvise", "madvise")])
def test_what_a_killed_holder_has_left_is_put_back_by_the_next(tree: Path, meanwhile: str, was: str) -> None:
    """It was taken for what the host had been set to: nothing ever put it back. What was set since stays as it is."""
    kill_holder(tree, "thp")
    assert contents(tree)[-1] == "never", "nobody was left to put it back"
    if meanwhile:
        write(tree, {ENABLED: f"{meanwhile}\n"})
    with holding(tree, "thp") as (again, _):
        assert again == {"thp": {"was": was, "now": "never"}}
    assert contents(tree)[-1] == was


def test_what_a_killed_holder_has_left_is_told_until_it_is_put_back(tree: Path) -> None:
    with holding(tree, "thp"):
        assert left_in(tree) == [], "it is held"
    kill_holder(tree, "thp", "turbo")
    assert [Path(file).name for file, *_ in left_in(tree)] == ["no_turbo", "enabled"]
    assert [str(tree / ENABLED), "never", "always"] in left_in(tree)
    write(tree, {ENABLED: "always\n"})
    assert [Path(file).name for file, *_ in left_in(tree)] == ["no_turbo"]


def test_a_run_that_sets_something_else_puts_back_what_a_killed_one_has_left(tree: Path) -> None:
    """It waited for the next run that set the same."""
    kill_holder(tree, "thp")
    with holding(tree, "turbo"):
        assert contents(tree)[-2:] == ["1", "always"]
    assert contents(tree)[-2:] == ["0", "always"]
    assert left_in(tree) == []


def test_what_cannot_be_put_back_yet_is_put_back_by_a_later_run(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(path: str, value: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy", path)

    kill_holder(tree, "thp")
    with monkeypatch.context() as patch:
        patch.setattr(machine, "write", busy)
        machine.left(str(tree), put_back=True)
    changed: list[Any] = []
    assert machine.take(str(tree), str(tree / ENABLED), "never", changed) == "always"
    machine.put_back(changed)
    assert contents(tree)[-1] == "always"


def test_what_could_not_be_set_is_not_put_back_once_somebody_else_has_set_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: str, value: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", path)

    changed: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(machine, "write", read_only)
        with pytest.raises(OSError, match="Read-only"):
            machine.take(str(tree), str(tree / ENABLED), "never", changed)
        machine.put_back(changed)
    write(tree, {ENABLED: "always madvise [never]\n"})
    assert machine.left(str(tree), put_back=True) == []
    assert contents(tree)[-1] == "always madvise [never]"


def test_once_a_machine_is_told_what_was_left_there() -> None:
    facts = {name: HostFacts(boot_id=boot) for name, boot in (("a", "1"), ("b", "1"), ("c", ""), ("d", ""))}
    assert host_facts._once_a_machine({"b": 1, "a": 2, "c": 3, "d": 4}, facts) == {"b": 1, "c": 3, "d": 4}


def test_where_one_cannot_be_set_none_is(tree: Path, tmp_path: Path) -> None:
    assert refused(tree, "thp", "swappiness") == "swappiness: this host does not expose it"
    assert contents(tree)[-1] == "always"
    assert refused(tree, "governor", sudo="yes", PATH=str(tmp_path)) == "there is no sudo on this host"


def test_where_not_all_are_asked_for_the_others_are_set(tree: Path) -> None:
    # Of two CPUs the second takes no governor: neither has another than before.
    second = tree / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    second.unlink()
    second.mkdir()
    with holding(tree, "thp", "governor", "swappiness", every="no") as (said, _):
        assert said == {"thp": THP}
        assert contents(tree) == ["powersave", "0", "never"]
    assert contents(tree) == ["powersave", "0", "always"], "what was there before is back"


# -- on real hosts --------------------------------------------------------------------------------------------------


def allowing(lab: Inventory, *knobs: str) -> Inventory:
    db1 = lab.hosts["db1"].model_copy(update={"tune": knobs})
    return lab.model_copy(update={"hosts": {**lab.hosts, "db1": db1}})


@pytest.fixture
def lively() -> Iterator[str]:
    """This machine's swappiness, another than a benchmark wants; set again afterwards."""
    before = SWAPPINESS.read_text()
    SWAPPINESS.write_text("45")
    yield "45"
    SWAPPINESS.write_text(before)


@pytest.mark.real
@needs_root
def test_what_the_inventory_allows_is_set_for_the_session_and_said(lab: Inventory, lively: str) -> None:
    with Session(allowing(lab, "swappiness"), lab.hosts) as session:
        environment = survey(session, disk_gb=0.1)
        assert SWAPPINESS.read_text().strip() == "1"
        assert environment.tuned == {"db1": {"swappiness": {"was": lively, "now": "1"}}}
        assert environment.hosts["db1"].swappiness == "1"
    assert SWAPPINESS.read_text().strip() == lively
    shown = differences._tuned(environment)
    assert shown is not None
    assert "put back" in str(shown.data)


@pytest.mark.real
@needs_root
def test_a_driver_that_is_gone_leaves_no_setting_behind(lab_home: Home, lab: Inventory, lively: str) -> None:
    with Session(allowing(lab, "swappiness"), lab.hosts) as session:
        tune(session)
        assert SWAPPINESS.read_text().strip() == "1"
        # What the lease does when nobody renews it, at once: the supervisor takes its command with it.
        for process in lab_home.processes("agent.py", "tune-"):
            process.kill()
        until(lambda: SWAPPINESS.read_text().strip() == lively, "what was there before is back")
        until(lambda: not lab_home.processes("machine.py"), "nothing holds it any more")


@pytest.mark.real
@needs_root
def test_what_is_put_back_in_mid_run_spoils_the_trial_and_is_set_again(
    lab_home: Home, lab: Inventory, lively: str
) -> None:
    with Session(allowing(lab, "swappiness"), lab.hosts) as session:
        tune(session)
        reach_again(session)
        assert len(lab_home.processes("machine.py", "hold")) == 1, "what holds is left alone"
        with pytest.raises(SettingsLost, match="the settings of db1 was killed"), watching(session, []):  # noqa: PT012
            # A host does so too whose driver was asleep, or cut off, for longer than its lease.
            for process in lab_home.processes("agent.py", "tune-"):
                process.kill()
            until(lambda: SWAPPINESS.read_text().strip() == lively, "what was there before is back")
        reach_again(session)
        assert SWAPPINESS.read_text().strip() == "1"
        with watching(session, []):
            pass
    assert SWAPPINESS.read_text().strip() == lively


@pytest.mark.real
def test_a_setting_that_a_host_does_not_have_is_refused_with_the_fix(
    lab: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").exists():
        pytest.skip("this machine has a governor")
    with Session(allowing(lab, "governor"), lab.hosts) as session:
        assert tune(session) == {}, "a lab is whatever machine somebody has"
        monkeypatch.setattr(session, "inventory", session.inventory.model_copy(update={"lab": False}))
        with pytest.raises(HostUnusable) as caught:
            tune(session)
    assert caught.value.key == "hosts.db1.tune"
    assert "governor: this host does not expose it" in str(caught.value)
    assert "take it off the list" in str(caught.value.fix)


@pytest.mark.real
@pytest.mark.skipif(not (ASLEEP and os.access(WAKES_WITHIN, os.W_OK)), reason="its CPUs sleep as they like")
def test_what_cpus_of_a_lab_do_is_set_for_the_session(lab: Inventory) -> None:
    with Session(allowing(lab, "idle"), lab.hosts) as session:
        environment = survey(session, disk_gb=0.1)
        now = environment.tuned["db1"]["idle"]["now"]
        # One machine: it is said of the other host of the lab too, and is a known problem of neither.
        assert {about.idle for about in environment.hosts.values()} == {now}
        assert "idle CPUs" not in {finding.what for finding in environment.findings}
        (within_us,) = struct.unpack("i", WAKES_WITHIN.read_bytes())
        assert within_us <= min(int((state / "latency").read_text()) for state in ASLEEP)


@pytest.mark.real
@pytest.mark.skipif(not (REPORTS_FROM.exists() and os.access(REPORTS_FROM, os.W_OK)), reason="not to be set here")
def test_what_a_lab_frees_is_kept_for_the_session(lab: Inventory) -> None:
    before = REPORTS_FROM.read_text()
    with Session(allowing(lab, "memory"), lab.hosts) as session:
        environment = survey(session, disk_gb=0.1)
        assert environment.tuned["db1"]["memory"]["now"].startswith("kept, ")
        assert {about.page_reporting for about in environment.hosts.values()} == {"off"}
        assert "free memory" not in {finding.what for finding in environment.findings}
    assert REPORTS_FROM.read_text() == before


@pytest.mark.parametrize(
    ("about", "what"),
    [
        ({"page_reporting": "on"}, "free memory: given back to the hypervisor, wanted: kept (`tune: [memory]`)"),
        ({"idle": "sleep: C1, C6"}, "idle CPUs: sleep: C1, C6, wanted: kept awake (`tune: [idle]`)"),
        # Of a login shell that takes a second, the answer comes half a second later than a clock that is right.
        ({"clock_offset_s": 0.508, "clock_error_s": 0.508}, ""),
        ({"clock_offset_s": -0.508, "clock_error_s": 0.004}, "clock offset to the driver: -0.508 s, wanted: within"),
        ({"filesystem": "nfs4", "roles": ["tidb"]}, "data folder: on nfs4, wanted: on a disk of the host"),
        ({"filesystem": "nfs4", "roles": ["client"]}, ""),
        ({"filesystem": "ext4", "roles": ["tidb"]}, ""),
    ],
)
def test_what_is_off_about_a_host_is_a_known_problem(about: dict[str, Any], what: str) -> None:
    right = {"governor": "performance", "open_files_limit": 1 << 20}
    found = [
        f"{each.what}: {each.found}, wanted: {each.wanted}"
        for each in host_facts._findings("db1", HostFacts(**right, **about))
    ]
    assert len(found) == bool(what)
    assert what in "".join(found)


def test_where_the_login_is_not_root_the_page_says_that_the_disk_use_of_others_is_not_seen() -> None:
    """Of two hosts that are one machine once."""
    login = {True: SimpleNamespace(by_root=SimpleNamespace(is_root=True))}
    login[False] = SimpleNamespace(by_root=SimpleNamespace(is_root=False))
    hosts: Any = {"a": login[True], "b": login[False], "c": login[False]}
    facts = {name: HostFacts(boot_id=boot) for name, boot in {"a": "1", "b": "2", "c": "2"}.items()}
    assert [(each.host, each.found) for each in host_facts._unseen(hosts, facts)] == [
        ("b", "not seen: this login is not root")
    ]
