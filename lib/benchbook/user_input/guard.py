"""The last guard of a command line: whatever happens is a message and an exit status; `--debug` shows the stack."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable

from benchbook import plugins
from benchbook.errors import BenchbookError, one_line

OPTION = "--debug"
VARIABLE = "BENCHBOOK_DEBUG"
# What a shell says of a program that Ctrl-C ended; typer makes it of a KeyboardInterrupt.
INTERRUPTED = 130
# What it says of one that SIGPIPE ended: 128 + 13.
READER_GONE = 141
_LONGEST = 400
# A full device, a quota, a limit on the size of a file, and a read-only file system.
_TAKES_NOTHING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

Say = Callable[[str], None]
Words = Callable[[BaseException], str]


def begin(say: Say) -> None:
    """Take `--debug` out of this program's arguments, wherever it stands; threads end as quietly as the rest.

    Where the terminal's encoding lacks a letter (`LANG=en_US` is Latin-1), a question mark is printed in its place.
    What it says goes on in an environment variable, so that a notebook's kernel and workers know it too.
    """
    if OPTION in sys.argv[1:]:
        sys.argv[1:] = [word for word in sys.argv[1:] if word != OPTION]
        os.environ[VARIABLE] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    threading.excepthook = lambda args: _tell(args.exc_value, say) if args.exc_value else None


def status_of(step: Callable[[], int | None], say: Say, words: Words | None = None) -> int:
    """Return the exit status of `step`: what it returns, or that of what it raises, which `say` gets in `words`."""
    try:
        return step() or 0
    except BenchbookError as problem:
        _tell(problem, say, words)
        return problem.exit_status
    except Exception as problem:  # noqa: BLE001 - the one place where what nobody expected ends
        _tell(problem, say, words)
        return 1


def writing_all(step: Callable[[], int | None]) -> int | None:
    """Return what `step` returns, or raise what it raises, once all that it printed is written.

    What cannot be written is an error of `step`: Python itself would write the rest when it ends, and say then in words
    of its own that it could not.
    """
    try:
        return step()
    finally:
        try:
            # None: the program was started with its output closed.
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as problem:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(problem, BrokenPipeError):
                sys.exit(READER_GONE)
            raise


def reader_gone(ended: SystemExit) -> bool:
    """Return whether the program ends because who read its output has gone, as `head` does after its lines.

    rich and click both turn that into exit status 1, which a command may mean otherwise; what they caught is its
    context.
    """
    return isinstance(ended.__context__, BrokenPipeError)


def debugging() -> bool:
    return bool(os.environ.get(VARIABLE))


def in_words(problem: BaseException) -> str:
    """One paragraph. An error that was not raised on purpose is called what it is."""
    if isinstance(problem, BenchbookError):
        return str(problem)
    said = one_line(str(problem).strip())
    if isinstance(problem, OSError) and problem.errno in _TAKES_NOTHING:
        where = one_line(str(problem.filename or "the output"))
        return f"{where}: {problem.strerror}. Fix: free space where the output goes, or send it elsewhere"
    what = f"{type(problem).__name__}: {said[:_LONGEST]}" if said else type(problem).__name__
    return f"{what}. This is a defect of {_blamed(problem)}."


def in_lines(problem: BaseException) -> str:
    """Return the same for a terminal: the file, what is wrong and the fix on lines of their own."""
    return problem.in_lines() if isinstance(problem, BenchbookError) else in_words(problem)


def _blamed(problem: BaseException) -> str:
    """Whose code it was that raised it, or that gave another one what it cannot take: a package's, or the kit's."""
    stack = traceback.walk_tb(problem.__traceback__)
    place = plugins.blamed((frame.f_code.co_filename, line) for frame, line in stack)
    if place is None or not place.owner or place.owner == plugins.KIT:
        return f"the kit; {OPTION} shows where"
    return f"{place.owner}, in {place}; {OPTION} shows its stack"


def _tell(problem: BaseException, say: Say, words: Words | None = None) -> None:
    if debugging():
        traceback.print_exception(problem)
    say((words or in_words)(problem))
