"""Progress of a campaign in the notebook that runs it: one view that is updated in place, and a button to stop."""

from __future__ import annotations

import os
import time
from threading import Event

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from benchbook.campaign.progress import PROGRESS_FILE, Listener, Progress
from benchbook.display.show import Shown, fragment

# Seconds from an update to a rate that is shown: more often, nobody could read them.
UPDATE_EVERY_S = 0.2
# A page that is opened anew hears of no cell that is running, and JupyterLab then draws no button for it.
ELSEWHERE = (
    "This moves, and the button works, only in the page that began the run. After a reload the run goes on unseen, and "
    "`benchbook runs` in a terminal counts its trials. To have bar and button again, interrupt the kernel and run this "
    "cell: it goes on, and makes anew the trial that was running. After a restart of the kernel, run this cell, too."
)


class LiveView:
    """What a notebook shows of a run: nothing outside of one, and no button where nobody could press it."""

    def __init__(self) -> None:
        inside = get_ipython() is not None
        watched = inside and not os.environ.get(PROGRESS_FILE)
        self._bar = ProgressBar(ELSEWHERE if watched else "") if inside else None
        self._button = StopButton() if watched else None

    @property
    def listeners(self) -> list[Listener]:
        return [self._bar] if self._bar else []

    def stop(self) -> bool:
        """Return whether the user asked for the run to end."""
        return self._button is not None and self._button.pressed

    def __enter__(self) -> LiveView:
        if self._button:
            self._button.show()
        return self

    def __exit__(self, *_: object) -> None:
        if self._button:
            self._button.remove()
        if self._bar:
            self._bar.end()


class StopButton:
    """Ends the run after the trial that is running; gone when the run is over, so that no dead one stays in the file.

    JupyterLab delivers its message while the cell runs (over a subshell of the kernel). Elsewhere it comes too late:
    there, interrupting the kernel ends the run.
    """

    def __init__(self) -> None:
        self._pressed = Event()
        self._handle: DisplayHandle | None = None
        self._widget = ipywidgets.Button(description="Stop after this trial", icon="stop", layout={"width": "auto"})
        self._widget.on_click(self._press)

    @property
    def pressed(self) -> bool:
        return self._pressed.is_set()

    def _press(self, _: object) -> None:
        self._pressed.set()
        self._widget.disabled, self._widget.description = True, "Stopping after this trial"

    def show(self) -> None:
        self._handle = display(self._widget, display_id=True)
        # ipykernel 7.4 answers a comm in the shell that last sent on it, which is the one that runs our cell. Without
        # its note the message stays in the subshell that the frontend chose.
        vars(self._widget.comm).pop("_reply_subshell_id", None)

    def remove(self) -> None:
        if self._handle:
            self._handle.update(Shown(""))
        self._widget.close()


class ProgressBar:
    """One display that is updated in place: counts, phase, the current trial's rate; failures stay listed below.

    `note` stands beneath it while the run goes on.
    """

    def __init__(self, note: str = "") -> None:
        self._note = note
        self._shown: Progress | None = None
        self._handle: DisplayHandle | None = None
        self._failures: list[str] = []
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.news.startswith("FAILED"):
            self._failures.append(progress.news)
        # Another rate follows soon; a step, or the next trial, may be the last that is said for minutes.
        is_rate = progress.rate is not None and not progress.step
        if is_rate and time.monotonic() - self._last < UPDATE_EVERY_S:
            return
        self._last = time.monotonic()
        self._show(progress)

    def end(self) -> None:
        """Nothing follows: what was said last stays, without the note."""
        self._note = ""
        if self._shown is not None:
            self._show(self._shown)

    def _show(self, progress: Progress) -> None:
        self._shown = progress
        content = fragment("progress", progress=progress, failures=self._failures, note=self._note)
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(content)
        else:
            self._handle.update(content)
