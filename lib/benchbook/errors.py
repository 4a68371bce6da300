"""Every error the kit raises on purpose has one root, `BenchbookError`, and reads as one paragraph.

`BadInput` and its children are the user's to mend, and end the command with exit status 2 before any load has
run; everything else that goes wrong ends it with 1.
"""

from __future__ import annotations

from typing import Any

_NOTHING = object()


class BenchbookError(Exception):
    """The root of all errors raised on purpose; `exit_status` is what a command line ends with."""

    exit_status = 1

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback: the reader needs the paragraph, not our stack."""
        return [f"{type(self).__name__}: {self}"]


class BadInput(BenchbookError):
    """Something the user gave cannot be used: names the file, the key, the value and the fix."""

    exit_status = 2

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        key: str | None = None,
        value: Any = _NOTHING,
        fix: str | None = None,
    ) -> None:
        self.problem, self.file, self.key, self.value, self.fix = problem, file, key, value, fix
        where = [f"{file}" if file else "", f"{key}" if key else ""]
        head = ": ".join(part for part in where if part)
        said = "" if value is _NOTHING else f" (got {value!r})"
        text = f"{head}: {problem}{said}." if head else f"{problem}{said}."
        super().__init__(f"{text} Fix: {fix}" if fix else text)


class HostUnusable(BadInput):
    """A host cannot be reached, does not prove who it is, or lacks what the run needs."""


class HostReserved(HostUnusable):
    """Another driver holds a host: it is waited for, or refused, before anything is touched."""


class ReservationLost(BenchbookError):
    """This driver was silent for longer than its lease, and another has taken a host of its session meanwhile."""


class RemoteFailed(BenchbookError):
    """A command on a host failed: carries the command, its exit status and its last lines."""

    def __init__(self, host: str, command: str, status: int | None, output: str) -> None:
        self.host, self.command, self.status, self.output = host, command, status, output
        tail = " | ".join(output.strip().splitlines()[-10:]) or "no output"
        super().__init__(f"{host}: `{command}` ended with status {status}: {tail}")


class ConnectionLost(BenchbookError):
    """The connection to a host broke in the middle of something; the host may well be alive."""


class JobLost(BenchbookError):
    """A job's host could not be reached for longer than the lease: by now the host has ended the job."""


class TrialFailed(BenchbookError):
    """A trial could not be measured; recorded as failed, retried by the next run.

    `output` is what the program that failed had printed: the record keeps it.
    """

    def __init__(self, problem: str, *, output: str = "") -> None:
        super().__init__(problem)
        self.output = output


class WorkloadFailed(TrialFailed):
    """The load generator says that it failed, or was ended from outside."""


class OutputNotParseable(TrialFailed):
    """The load generator's output lacks what a whole run prints."""


class SystemFailed(TrialFailed):
    """A system under test did not start, did not become ready, or died."""
