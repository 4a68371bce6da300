"""One round: a run of the real command, a fault at its moment, at most two reruns, and the checker."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchbook.errors import BenchbookError
from fault_campaign import catalogue, checker, process_table, small_disks
from fault_campaign.checker import KeptRecords, RoundSeen, RunSeen, Violation
from fault_campaign.draw import PlannedRound
from fault_campaign.home import INVENTORY, LEASE_S, REPORT, TIME_S, RoundHome, free_net
from fault_campaign.inflict import Inflictor
from fault_campaign.moments import RunSigns
from fault_campaign.second_driver import SecondDriver
from fault_campaign.watch import Lookout

# A record is half written for some milliseconds only; what else is waited for stays as long as it takes to see it.
LOOK_EVERY_S, LOOK_CLOSELY_S = 0.03, 0.004
# No run of four loads of 3 s takes so long, unless it waits for something that never comes.
PATIENCE_S = 240.0
# The hosts have this long, beyond the lease, to end what a run left.
BEYOND_LEASE_S = 10.0
RERUNS = 2
_TAIL = 3000


@dataclass(frozen=True)
class RoundResult:
    """One round. `outcome`: held, violated, or missed (nothing was `hit`: it was not there any more, and all held).

    `exits`: exit status of each run, null for one that had to be ended; `clean_s`: seconds from the end of the run
    with the fault until nothing of it was alive on the hosts; `said`: what each run printed last, where it is needed.
    """

    round: int
    phase: str
    fault: str
    place: str
    moment: str
    records: int
    held_s: float
    hit: bool
    outcome: str
    exits: list[int | None]
    trials_lost: int
    clean_s: float
    seconds: float
    violations: list[Violation]
    said: list[str]


def play(planned: PlannedRound, folder: Path) -> RoundResult:
    """Play a round in a new folder, which is gone afterwards, whatever interrupts it."""
    with free_net() as net:
        home = RoundHome(folder, net)
        try:
            return _Playing(planned, home).play()
        finally:
            clean_up(home)


def clean_up(home: RoundHome) -> None:
    """End every process of a round, its hosts too, take its disks away, and remove its folder."""
    ends = time.monotonic() + BEYOND_LEASE_S
    while (alive := process_table.of_folder(home.path)) and time.monotonic() < ends:
        for one in alive:
            _kill(one.pid)
        time.sleep(0.05)
    for disk in catalogue.DISKS:
        small_disks.unmount(small_disks.place(home, disk))
    shutil.rmtree(home.path, ignore_errors=True)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@dataclass
class _Playing:
    """A round while it is played."""

    planned: PlannedRound
    home: RoundHome
    runs: list[RunSeen] = field(default_factory=list)
    kept: KeptRecords = field(default_factory=KeptRecords)
    command_lines: set[str] = field(default_factory=set)
    second: SecondDriver | None = None
    lost: int = 0
    lasted: tuple[float, float] = (0.0, math.inf)

    def play(self) -> RoundResult:
        began = time.monotonic()
        self._set_up()
        hit = self._faulted()
        clean_s, left = self._clean()
        self._rerun()
        if self.second:
            told = self.second.output.read_text(errors="replace")
            self.runs.append(RunSeen("the second driver", self.second.process.returncode, told, may_refuse=True))
        return self._result(hit, checker.check(self._round(left)), clean_s, time.monotonic() - began)

    # -- its steps ------------------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        self.home.lay_out()
        if self.planned.fault.kind in catalogue.ON_DISKS:
            small_disks.make(self.home, self.planned.place)
        output = self.home.path / "lab.txt"
        up = self.home.start(self.home.home, output, "lab", "up", INVENTORY)
        if self._await(up) != 0:
            raise BenchbookError(f"the lab of a round did not start: {output.read_text()[-_TAIL:]}")

    def _faulted(self) -> bool:
        """The run with the fault; whether what was to be hit was there."""
        signs, output, moment = RunSigns(self.home), self.home.path / "run-1.txt", self.planned.moment
        closely = LOOK_CLOSELY_S if moment.brief else LOOK_EVERY_S
        lookout = Lookout(self.home, self.kept, self.command_lines)
        began, run = time.time(), self.home.report(output)
        with lookout:
            self._bring_second(run)
            came = self.wait(
                lambda: run.poll() is not None or moment.sign(signs, self.planned.records), PATIENCE_S, closely
            )
            hit = came and run.poll() is None and self._inflict(signs, run)
            status = self._await(run)
            if self.second:
                self.second.let_go()
                self._await(self.second.process)
        killed = hit and self.planned.fault == catalogue.Fault(catalogue.KILL, catalogue.DRIVER)
        self._note("the run with the fault", status, output, began, killed=killed)
        self.lost = self._lost(status, lookout.trials)
        return hit

    def _bring_second(self, run: subprocess.Popen[bytes]) -> None:
        """While the first connects, the second starts beside it; later it comes when its moment has come."""
        if self.planned.fault.kind == catalogue.SECOND:
            self.second = SecondDriver.start(self.home)
            if self.planned.phase != "connect":
                self.second.hold(run, self.wait, PATIENCE_S)

    def _inflict(self, signs: RunSigns, run: subprocess.Popen[bytes]) -> bool:
        if self.second:
            self.second.let_go()
            return True
        began = time.time()
        hit = Inflictor(self.planned, signs, run, self.wait).inflict()
        # What was stopped goes on as it was; what was killed or spoilt may be missed later.
        self.lasted = (began, time.time() if self.planned.fault.kind == catalogue.STOP else math.inf)
        return hit

    def _lost(self, status: int | None, begun: set[str]) -> int:
        """Trials that the fault cost: those in hand of a run that it ended, else all that the run did not record."""
        planned, done = checker.planned(self.home.home), checker.done(self.home.home)
        if self.planned.ends_the_run:
            return len(begun - {trial for _, trial in done})
        refused = status == 2 and self._may_refuse and not done
        return 0 if refused else len(planned - done)

    def _clean(self) -> tuple[float, list[str]]:
        """Seconds until nothing of the run was alive, and what still was when its time was over."""
        began = time.monotonic()
        self.wait(lambda: not self._at_work(), LEASE_S + BEYOND_LEASE_S)
        return time.monotonic() - began, self._at_work()

    def _at_work(self) -> list[str]:
        return [one.words for one in process_table.of_folder(self.home.path) if not one.is_host]

    def _rerun(self) -> None:
        for number in range(1, RERUNS + 1):
            planned = checker.planned(self.home.home)
            if planned and planned == checker.done(self.home.home) and self.runs[-1].status == 0:
                return
            output, lookout = (
                self.home.path / f"run-{number + 1}.txt",
                Lookout(self.home, self.kept, self.command_lines),
            )
            began, run = time.time(), self.home.report(output)
            with lookout:
                status = self._await(run)
            self._note(f"rerun {number}", status, output, began)

    # -- what it is made of ---------------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], bool], seconds: float, every_s: float = LOOK_EVERY_S) -> bool:
        """Whether the condition came true within so many seconds."""
        ends = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > ends:
                return False
            time.sleep(every_s)
        return True

    def _await(self, run: subprocess.Popen[bytes]) -> int | None:
        """Its exit status; None if it had to be ended."""
        if self.wait(lambda: run.poll() is not None, PATIENCE_S):
            return run.returncode
        run.kill()
        run.wait()
        return None

    @property
    def homes(self) -> list[Path]:
        return [self.home.home, *([self.home.second] if self.second else [])]

    @property
    def _may_refuse(self) -> bool:
        """With status 2, before any load: a host that does not prove who it is, or that the second driver got first.

        While a run connects, also a host that is away; until the first load, a disk on which nothing can be written.
        """
        fault, phase = self.planned.fault, self.planned.phase
        away = phase == "connect" and fault.target == catalogue.SSHD
        full = phase in ("connect", "prepare") and fault.kind in catalogue.ON_DISKS
        return away or full or fault.kind in (catalogue.KEY_SWAP, catalogue.SECOND)

    def _note(self, what: str, status: int | None, output: Path, began: float, *, killed: bool = False) -> None:
        page = self.home.home / "site" / f"{REPORT}.html"
        paged = page.exists() and page.stat().st_mtime >= began
        refused = self._may_refuse and not self.runs and not checker.done(self.home.home)
        text = output.read_text(errors="replace")
        met = not self.runs
        self.runs.append(RunSeen(what, status, text, killed=killed, may_refuse=refused, paged=paged, met=met))
        self.kept.look(self.homes)

    def _round(self, left: list[str]) -> RoundSeen:
        return RoundSeen(
            homes=self.homes,
            runs=self.runs,
            time_s=TIME_S,
            lost=self.lost,
            named_by=self.planned.fault.named_by,
            lasted=self.lasted,
            on_hosts=self.planned.fault.on_hosts,
            left=left,
            secrets=self.home.secrets(),
            command_lines=self.command_lines,
            rewritten=self.kept.said,
        )

    def _result(self, hit: bool, found: list[Violation], clean_s: float, seconds: float) -> RoundResult:
        fault, asked = self.planned.fault, self.planned
        said = [f"{run.what} ({run.status}): {run.output[-_TAIL:]}" for run in self.runs] if found else []
        reasons = checker.reasons(self.home.home) if found else []
        return RoundResult(
            round=asked.number,
            phase=asked.phase,
            fault=str(fault),
            place=asked.place,
            moment=asked.moment.name,
            records=asked.records,
            held_s=asked.held_s,
            hit=hit,
            outcome="violated" if found else "held" if hit else "missed",
            exits=[run.status for run in self.runs],
            trials_lost=self.lost,
            clean_s=round(clean_s, 2),
            seconds=round(seconds, 1),
            violations=found,
            said=[*said, *reasons],
        )
