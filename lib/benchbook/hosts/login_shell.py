"""A command for sh, worded so that whatever shell a login has hands it on unchanged: sh, bash, zsh, csh, tcsh, fish.

The login shell reads only words that mean the same in all of them. In csh `!` is history, even between single quotes, a
newline ends a quoted word and `"$PATH:"` is a modifier; in fish `\\\\` and `\\'` are read between single quotes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# All that a command sees of the login's environment; servers are often not on a plain PATH.
_ENVIRONMENT = """HOME="$HOME" USER="$USER" LC_ALL=C PATH="$PATH"':/usr/local/sbin:/usr/sbin:/sbin'"""

# Printed on both outputs before the command's own: what stands before it was printed by the login shell.
_MARK = "\x1ebenchbook\x1e\n"
_SAY_MARK = 'printf "\\036benchbook\\036\\n"; printf "\\036benchbook\\036\\n" >&2'

_PLAIN = re.compile(r"[ -~]*")
_SAFE = re.compile(r"[A-Za-z0-9 _./:=,+-]")


def quote(argv: Sequence[object]) -> str:
    """Words as one shell command in which no word is ever interpreted."""
    return " ".join(shlex.quote(str(word)) for word in argv)


def words(command: str, keep: Sequence[str] = ()) -> str:
    """The command line for the login shell: `command` is run by sh, in an environment that no profile can change.

    `keep` names variables of the login that it needs all the same; each must be set there.
    """
    return _line(f"{_SAY_MARK}; ", command, keep)


def program(argv: Sequence[object]) -> str:
    """The same for a program that takes the place of sh, as sh takes that of the login shell.

    The mark is printed by a process of its own, which ends: sh itself wakes nobody (`RemoteHost.start` has the reason).
    """
    return _line(f"({_SAY_MARK}); ", f"exec {quote(argv)}", ())


def _line(say_mark: str, command: str, keep: Sequence[str]) -> str:
    if _PLAIN.fullmatch(command) and not set(command) & set("!\\"):
        body = f"'{say_mark}'{shlex.quote(command)}"
    else:
        body = f"'{say_mark}eval \"$(printf %b \"$1\")\"' sh '{_octal(command)}'"
    kept = "".join(f'{name}="${name}" ' for name in keep)
    return f"exec env -i {kept}{_ENVIRONMENT} sh -c {body}"


def said(output: str) -> str:
    """What the command printed, without what the login shell printed before it."""
    before, mark, after = output.partition(_MARK)
    return after if mark else before


def ran(output: str) -> bool:
    """Did the login shell run the command at all?"""
    return _MARK in output


def _octal(command: str) -> str:
    """Each character that some shell might read, as the bytes that `printf %b` makes of \\0ooo."""
    return "".join(c if _SAFE.match(c) else "".join(f"\\0{byte:03o}" for byte in c.encode()) for c in command)
