"""Progress of a campaign in the notebook that runs it: one bar that is updated in place."""

from __future__ import annotations

import time

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle

from benchbook.campaign.progress import Listener, Progress
from benchbook.display.fragments import fragment

# Seconds between two updates: more often, nobody could read it.
UPDATE_EVERY_S = 0.2


def in_notebook() -> list[Listener]:
    """The bar, where a notebook's kernel runs this; nothing anywhere else."""
    return [] if get_ipython() is None else [ProgressBar()]


class ProgressBar:
    """One display that is updated in place; failures stay listed below the bar."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None
        self._failures: list[str] = []
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.news.startswith("FAILED"):
            self._failures.append(progress.news)
        if not progress.finished and time.monotonic() - self._last < UPDATE_EVERY_S:
            return
        self._last = time.monotonic()
        content = fragment("progress", progress=progress, failures=self._failures)
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(content)
        else:
            self._handle.update(content)
