"""Every error the kit raises on purpose is a `BenchbookError`; a terminal shows cause and fix on lines of their own.

`BadInput` and its children are the user's to mend, and end the command with exit status 2 before any load has
run; everything else that goes wrong, and whatever goes wrong later, ends it with 1.
"""

from __future__ import annotations

import re
import reprlib
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

_NOTHING = object()
# A refused value is shown so that its place is found, not to be read again.
_LONGEST_VALUE, _LONGEST_TEXT = 200, 1000
HIDDEN = "a value that is not shown: it may be a secret"
_SECRET = re.compile(r"pass(?:word|wd|phrase)|secret|api_?key|(?<![a-z])(?:token|key)(?![a-z])", re.IGNORECASE)
# A line or a pair that tells a secret: `password: x`, `token=x`, `"key": x`. A word of prose before a colon may be one.
_TELLS = re.compile(rf"(?:{_SECRET.pattern})\w*[\"']?\s*[:=]", re.IGNORECASE)


def names_secret(key: str) -> bool:
    """Return whether what stands under this key (`systems.tidb.password`) may be a secret."""
    # pydantic calls a mapping's key itself `[key]`.
    return bool(_SECRET.search(key.removesuffix(".[key]")))


def tells_secret(text: str) -> bool:
    """Return whether a text may hold a secret behind its key, as a line of a file does."""
    return bool(_TELLS.search(text))


class _Cut(reprlib.Repr):
    """`repr` for a paragraph: long and deep values are cut, what stands under a key for secrets is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = 20
        self.maxlevel, self.maxstring, self.maxother = 5, _LONGEST_VALUE, _LONGEST_VALUE

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{...}"
        pairs = [
            f"{self.repr1(key, level - 1)}: {'...' if names_secret(str(key)) else self.repr1(value, level - 1)}"
            for key, value in list(x.items())[: self.maxdict]
        ]
        return f"{{{', '.join([*pairs, *(['...'] if len(x) > self.maxdict else [])])}}}"

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write very long ones.
        return repr(x) if abs(x) < 10**60 else f"a number of about {int(x.bit_length() * 0.30103) + 1} digits"

    def repr_str(self, x: str, level: int) -> str:
        return HIDDEN if tells_secret(x) else repr(x if len(x) <= self.maxstring else f"{x[: self.maxstring]}...")


def shown(key: str, value: object) -> str:
    """Return a refused value for a message: cut, on one line, and without what may be a secret."""
    if isinstance(value, Path):
        # Where a secret is kept is none, and what the reader has to look at.
        key, value = "", str(value)
    text = HIDDEN if names_secret(key) else _Cut().repr(value)
    return text if len(text) <= 2 * _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... ({len(text):,} characters)"


def counted(count: int, one: str, several: str = "") -> str:
    """In words: `1 table`, `2 tables`; `several` is the plural where it is not made with an s."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def installing(extra: str) -> str:
    """Return the command that brings the packages of an extra to the Python that runs this, in pipx's folder too."""
    needed = [each.partition(";") for each in metadata.requires("benchbook") or []]
    names = [name.strip() for name, _, when in needed if re.search(rf"extra == .{extra}\b", when)]
    return shlex.join([sys.executable, "-m", "pip", "install", *names])


def one_line(text: str) -> str:
    """Text of a user's file for a message: control characters escaped, so that it stays one paragraph, and cut."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:_LONGEST_TEXT])
    return plain if len(text) <= _LONGEST_TEXT else f"{plain}..."


def cut(line: str, most: int = 300) -> str:
    """What a program printed, for a message: of a line that holds a whole statement with its rows, how it begins."""
    return line if len(line) <= most else f"{line[:most]}... ({len(line):,} characters)"


class BenchbookError(Exception):
    """The root of all errors raised on purpose; `exit_status` is what a command line ends with."""

    exit_status = 1

    def in_lines(self) -> str:
        """Return the message for a terminal."""
        return str(self)

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback: the reader needs the paragraph, not our stack."""
        return [f"{type(self).__name__}: {self}"]


class BadInput(BenchbookError):
    """Something the user gave cannot be used: names file, line (where known), key, value and fix.

    A value that may be a secret is not printed, and a long one is cut.
    """

    exit_status = 2

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        key: str | None = None,
        value: Any = _NOTHING,
        fix: str | None = None,
        line: int | None = None,
    ) -> None:
        self.problem, self.file, self.key, self.value, self.fix, self.line = problem, file, key, value, fix, line
        place = ", ".join(filter(None, [f"line {line}" if line else "", key]))
        where = [one_line(str(part)) for part in (file, place) if part]
        said = "" if value is _NOTHING else f" (got {shown(key or '', value)})"
        text = f"{': '.join([*where, one_line(problem)])}{said}."
        # In a terminal the file has a line of its own.
        self.place = where[0] if file else ""
        self.cause = text.removeprefix(f"{self.place}: ") if self.place else text
        super().__init__(f"{text} Fix: {one_line(fix)}" if fix else text)

    def in_lines(self) -> str:
        """Return the file, what is wrong in it, and the fix, on a line each."""
        return "\n  ".join(filter(None, [self.place, self.cause, f"Fix: {one_line(self.fix)}" if self.fix else ""]))


class HostUnusable(BadInput):
    """A host cannot be reached, does not prove who it is, or lacks what the run needs."""


class HostReserved(HostUnusable):
    """Another driver holds a host: it is waited for, or refused, before anything is touched.

    `WORDS` stand in its message, by which a batch knows it in the output of a report.
    """

    WORDS = "the host is reserved by"
    # The project folder of who holds it.
    checkout = ""


class ReservationLost(BenchbookError):
    """A host of the session is not this driver's any more.

    It was silent for longer than its lease, and another has taken the host meanwhile; or the host was started anew.
    """


class RemoteFailed(BenchbookError):
    """A command on a host failed: carries the command, its exit status and its last lines."""

    def __init__(self, host: str, command: str, status: int | None, output: str) -> None:
        self.host, self.command, self.status, self.output = host, command, status, output
        tail = " | ".join(output.strip().splitlines()[-10:]) or "no output"
        super().__init__(f"{host}: `{command}` ended with status {status}: {tail}")


class ConnectionLost(BenchbookError):
    """The connection to a host broke in the middle of something; the host may well be alive."""


class NotWritten(BenchbookError):
    """A file on this machine could not be written: its disk is full, say, or read-only."""


class NothingRecorded(NotWritten):
    """Nothing can be written here, and no load has begun: the user's to mend, as bad input is."""

    exit_status = BadInput.exit_status


@contextmanager
def writing(what: object) -> Iterator[None]:
    """What is done in the block writes `what`, a path or a name. Raise NotWritten."""
    try:
        yield
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename and str(problem.filename) != str(what) else ""
        raise NotWritten(
            f"{what} cannot be written: {problem.strerror or problem}{where}. Fix: free some space, or make it "
            "writable, and run the same again: what has been recorded stays"
        ) from problem


class TrialFailed(BenchbookError):
    """A trial could not be measured; recorded as failed, retried by the next run.

    `output` is what the program that failed had printed: the record keeps it.
    """

    def __init__(self, problem: str, *, output: str = "") -> None:
        super().__init__(problem)
        self.output = output


class LeftStopped(TrialFailed):
    """A trial failed while a program of its run was stopped (SIGSTOP) and was not continued: names it."""


class HostUnreachable(TrialFailed):
    """A host that had been reached could not be any more, for longer than the lease: by now it has ended our jobs."""


class ProbeFailed(TrialFailed):
    """A probe was killed while it watched a trial."""


class SettingsLost(TrialFailed):
    """What the inventory has set on a host for the run was put back in mid-load."""


class WorkloadFailed(TrialFailed):
    """The load generator says that it failed, or was ended from outside."""


class OutputNotParseable(TrialFailed):
    """The load generator's output lacks what a whole run prints."""


class SystemFailed(TrialFailed):
    """A system under test did not start, did not become ready, or died."""
