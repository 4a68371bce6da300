"""Whether a server lives: waiting until it answers, why it died, and who is to blame."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.errors import BadInput, BenchbookError, HostUnreachable, SystemFailed, WorkloadFailed, cut
from benchbook.hosts import taken_port
from benchbook.hosts.agent import Ended, Job

# Of what a server printed before it died, so many characters of each end go into the record.
_KEPT = 50_000
# TiDB prints all of its configuration as one line of 10 kB when it starts.
_LONGEST_LINE = 500
_PANIC = ("panic: ", "fatal error: ")
# Begins the crash report of mysqld and mariadbd: a trace, then limits and advice. What made it crash stands above it.
_CRASH = re.compile(r"\b(?:mysqld|mariadbd) got signal \d+")
_ERROR = re.compile(r"\[(?:ERROR|FATAL)\]")


def await_answer(
    who: str, knock: Callable[[], str | None], *, timeout_s: float, enough: tuple[str, ...] = ()
) -> str | None:
    """Knock until the answer is None (it serves) or one of `enough`, and return that answer.

    `knock` raises by itself when the server has died. Raise SystemFailed with the last answer after `timeout_s`.
    """
    patient = Retrying(
        retry=retry_if_result(lambda said: said is not None and said not in enough),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(0.05),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    said = patient(knock)
    if said is not None and said not in enough:
        raise SystemFailed(f"{who} does not serve after {timeout_s:g} s: {said}")
    return said


def check_jobs(jobs: Mapping[str, Job]) -> None:
    """Raise SystemFailed for the first of these servers (in words) that has ended although nobody asked it to."""
    for who, job in jobs.items():
        if ended := job.ended_or_ending():
            raise died(who, job, ended)


def died(who: str, job: Job, ended: Ended) -> SystemFailed:
    """Return the error for a server that ended although nobody asked it to; what it printed goes along as `output`."""
    said = job.stdout().decode(errors="replace") + job.stderr()
    how = f"signal {ended.signal}" if ended.signal else f"status {ended.exit}"
    what = ended.from_outside(who) or f"{who} has died ({how})"
    why = taken_port.in_words(job.host, said) or last_words(said) or "no word"
    # What it could not write, it may not have printed either.
    disk = job.host.disk_problem()
    return SystemFailed(": ".join(filter(None, (what, disk, why))), output=_shortened(said))


def check_not_killed(who: str, ended: Ended | None, *, within_s: float) -> None:
    """Raise SystemFailed where a server that was asked to end had to be killed: its data is what a crash leaves."""
    if ended and (ended.reason, ended.signal) == ("stopped", signal.SIGKILL):
        raise SystemFailed(
            f"{who} was killed, for it had not ended {within_s:g} s after it was asked to: its data is what a crash "
            "leaves"
        )


def last_words(said: str) -> str:
    """Why a program ended, of all that it printed: where Go names a panic, that and not the trace after it.

    Of a database server that crashed, the errors before its crash report.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    crash = next((i for i, line in enumerate(lines) if _CRASH.search(line)), None)
    if crash is not None:
        return " | ".join([*_errors(lines[:crash])[-4:], lines[crash]])
    named = [i for i, line in enumerate(lines) if line.startswith(_PANIC)]
    if not named:
        return " | ".join(cut(line, _LONGEST_LINE) for line in lines[-5:])
    # Below it stands the signal, if there was one, then the goroutine that failed, innermost call first.
    return " | ".join(lines[named[0] : named[0] + 8])


def _errors(lines: Sequence[str]) -> list[str]:
    """Those of a log that are errors; what a server ran into a hundred times differs in its time alone, and is one."""
    found = {_ERROR.split(line)[-1]: line for line in reversed(lines) if _ERROR.search(line)}
    return list(reversed(found.values()))


def _shortened(said: str) -> str:
    """Both ends of what a server printed: a Go trace names its reason first, other programs last."""
    starts = [at for name in _PANIC if (at := said.find(name)) >= 0]
    said = said[min(starts, default=0) :]
    return said if len(said) <= 2 * _KEPT else f"{said[:_KEPT]}\n[...]\n{said[-_KEPT:]}"


# -- who is to be named when something fails: a server that has died, before whoever noticed it ----------------------


class Monitored(Protocol):
    """A server, or several, that can be asked whether they live."""

    def check_alive(self) -> None:
        """Raise SystemFailed when a server has ended although nobody asked it to."""


class Serving(Monitored, Protocol):
    """A server, or several, that can be asked whether they serve."""

    def check_serving(self) -> None:
        """Raise SystemFailed when a server takes no connection any more, or has ended."""


@contextmanager
def blaming(*servers: Serving) -> Iterator[None]:
    """What fails in the block, or does not, is the doing of a server that has died meanwhile: SystemFailed, by name."""
    try:
        yield
    except (BadInput, HostUnreachable):
        raise
    except BenchbookError as problem:
        for server in servers:
            server.check_alive()
        if isinstance(problem, WorkloadFailed):
            # One that writes its crash report lives on for seconds, and serves nobody.
            for server in servers:
                server.check_serving()
        raise
    for server in servers:
        server.check_alive()
