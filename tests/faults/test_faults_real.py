"""Rounds of faults on real processes: all that must hold does, and an interrupted campaign leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_campaign import __main__ as faults_command
from fault_campaign import catalogue, process_table, small_disks
from fault_campaign import draw as balanced_draw
from fault_campaign.catalogue import Fault, Phase
from fault_campaign.draw import PlannedRound
from fault_campaign.home import LEASE_S
from kit import ROOT, Home, until

pytestmark = [pytest.mark.real, pytest.mark.slow]

SEED = 7
# A round of each phase, of those in which everything holds; `make faults` plays them all.
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
    found = list(faults_command.played(planned(), 240))
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
    words = ["--seed", str(SEED), "--rounds", "60", "--round", str(number)]
    library = [str(ROOT / "lib"), str(ROOT / "tests" / "faults")]
    with subprocess.Popen(
        [sys.executable, "-m", "fault_campaign", *words],
        env={**home.environment, "PYTHONPATH": os.pathsep.join(library), "TMPDIR": str(folder)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as run:
        until(lambda: any(folder.glob("*/r*/home/.lab/*/*/sshd.pid")), "the hosts of the round are up")
        assert (str(folder) in mounts()) == can_mount
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "interrupted" in said
    assert process_table.of_folder(folder) == []
    assert str(folder) not in mounts()
    assert not any(folder.glob("bb-faults-*"))
