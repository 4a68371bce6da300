"""Does a planned fault to a run at the moment that has come, for as long as it lasts, and undoes what can be undone."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from fault_campaign import catalogue, small_disks, victims
from fault_campaign.draw import PlannedRound
from fault_campaign.home import PORT
from fault_campaign.moments import RunSigns

# A disk stays full, and a key wrong, until the run has met it, or has recorded so many trials all the same; at most so
# long.
UNBOTHERED, UNMET_S = 2, 60.0
_ROUTE = "local 127.0.0.0/8 dev lo table local"
_DONE_AND_UNDONE = {
    catalogue.LO_DOWN: ("link set lo down", "link set lo up"),
    catalogue.NO_ROUTE: (f"route del {_ROUTE}", f"route add {_ROUTE} proto kernel scope host src 127.0.0.1"),
}
# In a PID namespace of its own, below ours: probes see it, as a program of others. It ends with its first process.
_HOG = [*"unshare --pid --fork --kill-child sh -c".split(), "while :; do :; done & while :; do :; done"]
_LOOK = str(Path(__file__).parents[2] / "helpers" / "other_user.py")
_AS_NOBODY = "setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c".split()
Wait = Callable[[Callable[[], bool], float], bool]


@dataclass(frozen=True)
class Inflictor:
    """`wait(condition, seconds)` returns whether the condition came true in time."""

    planned: PlannedRound
    signs: RunSigns
    run: subprocess.Popen[bytes]
    wait: Wait

    def inflict(self) -> bool:
        """Whether anything was there to be hit; returns once the fault is over."""
        kind = self.planned.fault.kind
        if kind in catalogue.ON_DISKS:
            return self._disk(kind)
        if kind == catalogue.KEY_SWAP:
            return self._key()
        if kind in _DONE_AND_UNDONE:
            return self._cut(*_DONE_AND_UNDONE[kind])
        if kind in (catalogue.HOG, catalogue.OTHER_USER):
            return self._beside(_HOG if kind == catalogue.HOG else self._other_user())
        hit = victims.victims(self.planned, self.signs, self.run.pid)
        if kind == catalogue.STOP:
            return self._stop(hit)
        return self._kill(hit)

    def _kill(self, pids: list[int]) -> bool:
        hit = _signal(pids, signal.SIGKILL)
        if hit and self.planned.fault.target == catalogue.SSHD:
            psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=5)
            self._last(self.planned.held_s)
            victims.start_sshd(self.signs.home, self.planned.place)
        return hit

    def _stop(self, pids: list[int]) -> bool:
        hit = _signal(pids, signal.SIGSTOP)
        try:
            if hit:
                self._last(self.planned.held_s)
        finally:
            _signal(pids, signal.SIGCONT)
        return hit

    def _last(self, seconds: float) -> None:
        """A fault that lasts so long, whatever the run does meanwhile."""
        self.wait(lambda: False, seconds)

    def _cut(self, cut: str, mend: str) -> bool:
        """In the lab's own network, for as long as a link or a route may be away."""
        way = victims.inside(self.signs.home, self.planned.place)
        if victims.is_in_our_network(self.signs.home, self.planned.place):
            return False
        subprocess.run([*way, "ip", *cut.split()], check=True)
        try:
            self._last(self.planned.held_s)
        finally:
            subprocess.run([*way, "ip", *mend.split()], check=True)
        return True

    def _other_user(self) -> list[str]:
        """Another user, who tries the doors of the lab's hosts over and over."""
        home = self.signs.home
        words = [_LOOK, str(home.home), *(f"{home.net}.{host}:{port}" for host in (1, 11) for port in (PORT, 3306))]
        return [*_AS_NOBODY, f"while :; do /usr/bin/python3 {shlex.join(words)}; sleep 1; done"]

    def _beside(self, words: Sequence[str]) -> bool:
        """What somebody else runs on the machine meanwhile."""
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as running:
            try:
                self._last(self.planned.held_s)
            finally:
                os.killpg(running.pid, signal.SIGKILL)
        return True

    def _disk(self, kind: str) -> bool:
        mend = small_disks.spoil(kind, small_disks.place(self.signs.home, self.planned.place))
        try:
            self._meet()
        finally:
            mend()
        return True

    def _key(self) -> bool:
        """Logins that are open stay; new ones meet an sshd with another key."""
        try:
            with victims.another_key(self.signs.home, self.planned.place):
                self._restart()
                self._meet()
        finally:
            self._restart()
        return True

    def _restart(self) -> None:
        os.kill(victims.listener(self.signs.home, self.planned.place), signal.SIGHUP)

    def _meet(self) -> None:
        """Wait until a trial has failed or the run has ended; a run that goes on recording is not bothered."""
        enough = self.signs.records() + UNBOTHERED
        self.wait(lambda: self.signs.failed() or self.run.poll() is not None or self.signs.records() >= enough, UNMET_S)


def _signal(pids: Iterable[int], number: signal.Signals) -> bool:
    """Whether any of them was there to get it."""
    hit = False
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        hit = True
    return hit
