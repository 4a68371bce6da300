"""Progress of a campaign: what is done and left, the current rate, the estimated time to the end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from benchbook.campaign.design import Trial, blocks

# The command line names a file here; a notebook's kernel tells it there what a terminal should show.
PROGRESS_FILE = "BENCHBOOK_PROGRESS"
# The unit of sysbench's rate: transactions per second.
TPS = "tps"


@dataclass(frozen=True)
class Progress:
    """One moment of a campaign; `rate` in `unit`, averaged over the current trial as `mean`, times in seconds.

    `preparing` names systems that are still to be installed and prepared: `eta_s` does not hold that.
    `loaded`: a load has begun in this run, so that whatever goes wrong from here on is no bad input.
    """

    total: int
    done: int = 0
    failed: int = 0
    trial: str = ""
    step: str = ""
    rate: float | None = None
    mean: float | None = None
    unit: str = TPS
    eta_s: float | None = None
    preparing: str = ""
    news: str = ""
    finished: bool = False
    loaded: bool = False

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed

    def line(self) -> str:
        """One line of plain text."""
        counts = f"{self.done}/{self.total} done, {self.left} left" + (f", {self.failed} FAILED" if self.failed else "")
        eta = f", about {duration(self.eta_s)} to go" if self.eta_s is not None and self.left else ""
        eta += f" after preparing {self.preparing}" if eta and self.preparing else ""
        return f"{counts}{eta} | {self.trial} {self.step}{self._rates()}".rstrip(" |")

    def _rates(self) -> str:
        if self.rate is None or self.mean is None:
            return ""
        return f" {_figure(self.rate, self.unit)} {self.unit} now, {_figure(self.mean, self.unit)} so far"


Listener = Callable[[Progress], None]


def _figure(value: float, unit: str) -> str:
    """Transactions are whole; of what comes in small figures, the first decimal counts."""
    return f"{value:,.0f}" if unit == TPS or value >= 100 else f"{value:,.1f}"


def duration(seconds: float) -> str:
    """Return "5 s", "12 min 05 s" or "1 h 04 min"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Tracker:
    """Turns what happens into Progress."""

    def __init__(self, listen: Listener, *, total: int, done: int) -> None:
        self._listen = listen
        self._seen, self._sum = 0, 0.0
        self.now = Progress(total=total, done=done)
        self._listen(self.now)

    def trial(self, name: str, unit: str = TPS) -> None:
        self._seen, self._sum = 0, 0.0
        self._tell(replace(self.now, trial=name, unit=unit, step="", rate=None, mean=None, news=""))

    def say(self, step: str) -> None:
        self._tell(replace(self.now, step=step, news=""))

    def rate(self, into_s: float, rate: float) -> None:
        """A rate that was seen so many seconds into the load, which whoever listens is not told."""
        self._seen, self._sum = self._seen + 1, self._sum + rate
        self._tell(replace(self.now, step="", rate=rate, mean=self._sum / self._seen, news="", loaded=True))

    def ended(self, *, ok: bool, why: str = "", left_s: float | None = None, preparing: str = "") -> None:
        """A trial is over; `left_s` seconds are expected for the others, beside the preparation of `preparing`."""
        done, failed = self.now.done + ok, self.now.failed + (not ok)
        news = f"{'done' if ok else 'FAILED'} {self.now.trial}{': ' + why if why else ''}"
        over = replace(self.now, done=done, failed=failed, news=news, rate=None, mean=None, step="")
        self._tell(replace(over, eta_s=left_s, preparing=preparing, loaded=True))

    def extended(self, total: int) -> None:
        """The plan has so many trials now."""
        self.now = replace(self.now, total=total)

    def finish(self) -> None:
        over = replace(self.now, finished=True, trial="", step="", rate=None, mean=None, news="", preparing="")
        self._tell(replace(over, eta_s=0.0))

    def _tell(self, now: Progress) -> None:
        self.now = now
        self._listen(now)


class Forecast:
    """When a run will be over, from what its trials have taken so far.

    Installing a system and preparing its data are done once: they say nothing about the trials that are left.
    """

    def __init__(self, expected_s: Callable[[Trial], float]) -> None:
        self._expected_s = expected_s
        self._prepared: set[str] = set()
        self._begins: list[float] = []
        self._over: list[float] = []

    def began(self, system: str, seconds: float) -> None:
        """A block's system is up; the first time of each system is the one-off one."""
        if system in self._prepared:
            self._begins.append(seconds)
        self._prepared.add(system)

    def took(self, trial: Trial, seconds: float) -> None:
        """A trial is over, well or not; what it took beyond its load is expected of the others, too."""
        self._over.append(max(0.0, seconds - self._expected_s(trial)))

    def left_s(self, todo: Sequence[Trial], *, in_block: bool) -> float | None:
        """Seconds until these trials are measured, without the preparation of systems that are new; None if unknown.

        `in_block`: the first of them goes on in a block whose system is up.
        """
        if not self._over:
            return None
        begins = len(blocks(todo)) - in_block - len(self.unprepared(todo))
        each = fmean(self._begins) if self._begins else 0.0
        return sum(map(self._expected_s, todo)) + len(todo) * fmean(self._over) + max(0, begins) * each

    def unprepared(self, todo: Sequence[Trial]) -> list[str]:
        """Systems that are still to be installed and prepared, in their order."""
        return [name for name in dict.fromkeys(trial.cell.system for trial in todo) if name not in self._prepared]


def listeners(shown: Sequence[Listener] = ()) -> Listener:
    """Where progress goes from here: to `shown`, and to the file that the command line named; else news are printed."""
    sinks = list(shown)
    if os.environ.get(PROGRESS_FILE):
        sinks.append(lambda progress: tell_command_line(**asdict(progress)))
    if not sinks:
        sinks.append(_news_only)

    def tell(progress: Progress) -> None:
        for sink in sinks:
            sink(progress)

    return tell


def _news_only(progress: Progress) -> None:
    if progress.news:
        print(f"{progress.line()} | {progress.news}", flush=True)


def tell_command_line(**said: object) -> None:
    """Tell the command line that started this kernel, if one did: one JSON object a line, for it to follow."""
    if path := os.environ.get(PROGRESS_FILE):
        # A full disk costs who follows a line, and the run nothing.
        with suppress(OSError), Path(path).open("a") as out:
            out.write(json.dumps(said) + "\n")
