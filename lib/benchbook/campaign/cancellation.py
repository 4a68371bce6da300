"""How a user ends a run early: after the trial, or at once. What was recorded stays; the same run goes on from it."""

from __future__ import annotations

from benchbook.errors import BenchbookError

GO_ON = "what was recorded stays; run the cell again, and it goes on from there"


def are_left(count: int) -> str:
    """ "1 trial is left", "2 trials are left"."""
    return f"{count} trial{' is' if count == 1 else 's are'} left"


class RunStopped(BenchbookError):
    """The user asked for the run to end, and the trial that was running is recorded."""


class RunInterrupted(BenchbookError):
    """The user interrupted the run; the trial that was running is lost, and what ran on the hosts was ended."""
