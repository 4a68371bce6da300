"""How a lab's stop takes signals, and what its hosts are before they run; labs: `test_lab_drivers_real.py`."""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kit import INVENTORY, Home, processes_of

from benchbook import pipeline
from benchbook.errors import RemoteFailed
from benchbook.hosts import lab
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.lab_host import ACCOUNT, LabHost


@pytest.fixture(autouse=True)
def _as_the_command_line() -> Iterator[None]:
    """Have SIGTERM end as Ctrl-C does, and SIGHUP ignored, as `nohup` does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGTERM, before[0])
    signal.signal(signal.SIGHUP, before[1])


def test_who_is_told_to_end_while_the_lab_is_stopped_ends_once_it_is() -> None:
    done = []

    def stop() -> None:
        with lab._uninterrupted():
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTERM):
                signal.raise_signal(number)
            done.append("stopped")

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert done == ["stopped"]
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler


def test_a_run_that_stays_when_its_terminal_goes_does_so_while_the_lab_is_stopped() -> None:
    with lab._uninterrupted():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.skipif(
    os.geteuid() != 0 or ACCOUNT not in {each.pw_name for each in pwd.getpwall()},
    reason="root gives folders to the account",
)
def test_a_work_folder_is_the_account_s_alone_also_one_that_root_used_before(tmp_path: Path) -> None:
    new, old = (LabHost(name, "127.0.0.1", 2222, tmp_path / ".lab" / "a" / name) for name in ("new", "old"))
    (old.folder / "work" / "jobs").mkdir(parents=True)
    for host in (new, old):
        lab._give(tmp_path / ".lab", host)
    assert (new.folder / "work").stat().st_mode & 0o777 == 0o700
    assert {(old.folder / "work" / part).owner() for part in (".", "jobs")} == {ACCOUNT}


def test_a_host_that_does_not_run_yet_ends_a_command_in_time_and_takes_no_files(home: Home) -> None:
    inventory = load_inventory(INVENTORY)
    host = lab.HostToBe(inventory, "executor")
    assert host.run(["printf", "%s", "a b"]).stdout == "a b"
    with pytest.raises(RemoteFailed, match=r"sleep 61.*no end within 0\.2 s"):
        host.run(["sleep", "61.25"], timeout=0.2)
    assert processes_of(lambda line: "61.25" in line) == []

    def find(client: Any) -> str:
        """As that of a generator which brings its own program."""
        asked.append(client.run(["true"]).exited)
        return str(client.push(Path("/bin/true"), executable=True))

    asked = list[int]()
    generator = SimpleNamespace(find=find, builds_for=lambda inventory: ())
    experiment = SimpleNamespace(generator=generator)
    pipeline._check_program(cast(Any, SimpleNamespace(experiment=lambda: experiment, inventory=inventory)))
    assert asked == [0]
