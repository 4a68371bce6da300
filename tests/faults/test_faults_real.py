"""Rounds of faults on real processes: all that must hold does, and an interrupted campaign leaves nothing behind."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from kit import Home, until
from rich.console import Console

from benchbook.faults import balanced_draw, faults_command, process_table, small_disks
from benchbook.faults import fault_catalogue as catalogue
from benchbook.faults.balanced_draw import PlannedRound
from benchbook.faults.fault_catalogue import Fault, Phase
from benchbook.faults.round_home import LEASE_S

pytestmark = [pytest.mark.real, pytest.mark.slow]

SEED = 7
# A round of each phase, of those in which everything holds; `benchbook faults` plays them all.
ROUNDS: list[tuple[Phase, Fault]] = [
    ("load", Fault(catalogue.KILL, catalogue.GENERATOR)),
    ("prepare", Fault(catalogue.KILL, catalogue.GENERATOR)),
    ("reset", Fault(catalogue.STOP, catalogue.DRIVER)),
    ("connect", Fault(catalogue.STOP, catalogue.KERNEL)),
]


def planned() -> list[PlannedRound]:
    return [
        balanced_draw.settle(random.Random(f"{SEED} {number}"), number, phase, fault, LEASE_S)
        for number, (phase, fault) in enumerate(ROUNDS, start=1)
    ]


def test_what_must_hold_holds_whatever_breaks() -> None:
    found = list(faults_command.played(planned(), 120, 2, Console(quiet=True)))
    told = "\n".join(map(faults_command.in_words, found))
    assert [one.outcome for one in found] == ["held"] * len(found), told
    assert len(found) >= 2, "the budget lets some rounds be played"


def mounts() -> str:
    return Path("/proc/self/mounts").read_text()


def test_an_interrupted_campaign_leaves_no_process_no_disk_and_no_folder(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "rounds"
    folder.mkdir()
    can_mount = not small_disks.why_not()
    drawn = balanced_draw.draw(SEED, 60, lease_s=LEASE_S, without=() if can_mount else catalogue.ON_DISKS)
    number = next(one.number for one in drawn if not can_mount or one.fault.kind in catalogue.ON_DISKS)
    words = ["faults", "--seed", str(SEED), "--rounds", "60", "--round", str(number)]
    with home.start(*words, TMPDIR=str(folder)) as run:
        until(lambda: any(folder.glob("*/r*/home/.lab/*/*/sshd.pid")), "the hosts of the round are up")
        assert (str(folder) in mounts()) == can_mount
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "interrupted" in said
    assert process_table.of_folder(folder) == []
    assert str(folder) not in mounts()
    assert not any(folder.glob("bb-faults-*"))
