"""Follows DM's task: until it is where a trial wants it, and with DM's own words where it ends early."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchbook.errors import SystemFailed, TrialFailed, WorkloadFailed
from benchbook.profiles import DmSize
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.pipeline import Pipeline
from benchbook.reports.dm.task import TASK
from benchbook.reports.driving import Standstill
from benchbook.systems import mysql
from benchbook.systems.dm_status import CommandRefused, Status, TaskPaused
from benchbook.systems.mysql import BinlogPosition

# How long DM is waited for to say itself what a dead server did to its task.
LAST_WORDS_S = 15.0
_SYNCER = re.compile(r'^dm_syncer_binlog_(file|pos)\{node="syncer",task="\w+"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True)
class TaskWatch:
    """`size` says how long to wait for what."""

    pipeline: Pipeline
    size: DmSize

    def until(
        self,
        holds: Callable[[Status], bool],
        progress: list[tuple[float, float]] | None = None,
        on_rate: Callable[[float, float], None] = lambda *_: None,
    ) -> Status:
        """The first status for which `holds`; notes bytes loaded so far. Raises what stops the task."""
        began = time.monotonic()
        patience = Standstill("DM's task", self.size.stall_s, lambda: self.pipeline.dm.bytes_in(f"dumped_data.{TASK}"))
        while True:
            status = self.look()
            if progress is not None and status.loaded_bytes is not None:
                progress.append((time.time(), float(status.loaded_bytes)))
                seconds = max(0.1, time.monotonic() - began)
                on_rate(seconds, status.loaded_bytes / dm_summary.MIB / seconds)
            if holds(status):
                return status
            patience.see(status.where)
            time.sleep(0.1)

    def settle(self) -> None:
        """Let the sync idle, watched, as long as the profile says."""
        until = time.monotonic() + self.size.settle_s
        while time.monotonic() < until:
            self.look()
            time.sleep(1.0)

    def drain(self) -> None:
        """Return once DM has read up to the upstream's end and applied all it read. Raises WorkloadFailed if never."""
        upstream, until = mysql.binlog_position(self.pipeline.upstream), time.monotonic() + self.size.drain_s
        while not self._drained(upstream):
            self.look()
            if time.monotonic() > until:
                raise WorkloadFailed(f"DM has not caught up {self.size.drain_s} s after the load's end")
            time.sleep(0.2)

    def _drained(self, upstream: BinlogPosition) -> bool:
        text = self.pipeline.dm.metrics("dm_syncer_")
        at = {kind: float(value) for kind, value in _SYNCER.findall(text)}
        read = (at.get("file"), at.get("pos")) == (float(upstream.file.rpartition(".")[2]), float(upstream.offset))
        return read and _jobs(text, "added") == _jobs(text, "finished")

    def look(self) -> Status:
        """The task's status; if it failed, DM's own words and which server has died."""
        try:
            status = self.pipeline.dm.status()
        except (TaskPaused, CommandRefused, SystemFailed) as said:
            died = [each for each in self.pipeline.died() if each not in str(said)]
            if isinstance(said, TaskPaused):
                raise TaskPaused("; ".join([str(said), *died])) from said
            raise SystemFailed("; ".join(dict.fromkeys([*died, str(said), *self._masters_words()]))) from said
        if died := self.pipeline.died():
            raise self._last_words("; ".join(died))
        return status

    def _masters_words(self) -> list[str]:
        """What dm-master says of a worker that is gone."""
        try:
            self.pipeline.dm.ask_worker()
        except SystemFailed as said:
            return [str(said)]
        return []

    def _last_words(self, died: str) -> TrialFailed:
        """A server has died under a task that DM has not paused yet: wait for what DM makes of it."""
        until = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < until:
            try:
                self.pipeline.dm.status()
            except TaskPaused as said:
                return TaskPaused(f"{said}; {died}")
            except SystemFailed as said:
                return SystemFailed(f"{died}; {said}")
            time.sleep(0.1)
        return SystemFailed(died)


def _jobs(metrics: str, what: str) -> float:
    """Sum over queues and types of the row jobs that were added or finished."""
    found = re.findall(
        rf'^dm_syncer_{what}_jobs_total\{{.*type="(?:insert|update|del)"\}} (\S+)$', metrics, re.MULTILINE
    )
    return sum(map(float, found))
