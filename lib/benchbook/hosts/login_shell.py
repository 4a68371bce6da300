"""A command for sh, worded so that whatever shell a login has hands it on unchanged: sh, bash, zsh, csh, tcsh, fish.

The login shell reads only words that mean the same in all of them. In csh `!` is history, even between single quotes, a
newline ends a quoted word and `"$PATH:"` is a modifier; in fish `\\\\` and `\\'` are read between single quotes.

The environment is emptied by `env -i`, which every host has, or by `exec -c` of the login shell itself: bash, zsh and
ksh know that, dash, csh and fish refuse it and run nothing. It is a program less to start, 0.7 ms of CPU of 2.4.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# All that a command sees of the login's environment; servers are often not on a plain PATH.
_MORE_PATH = ":/usr/local/sbin:/usr/sbin:/sbin"
_ENVIRONMENT = f"""HOME="$HOME" USER="$USER" LC_ALL=C PATH="$PATH"'{_MORE_PATH}'"""

# Printed on both outputs before the command's own: what stands before it was printed by the login shell.
_MARK = "\x1ebenchbook\x1e\n"
_SAY_MARK = 'printf "\\036benchbook\\036\\n"; printf "\\036benchbook\\036\\n" >&2'

_PLAIN = re.compile(r"[ -~]*")
_SAFE = re.compile(r"[A-Za-z0-9 _./:=,+-]")


def quote(argv: Sequence[object]) -> str:
    """Words as one shell command in which no word is ever interpreted."""
    return " ".join(shlex.quote(str(word)) for word in argv)


def words(command: str, keep: Sequence[str] = (), *, clears: bool = False) -> str:
    """The command line for the login shell: `command` is run by sh, in an environment that no profile can change.

    `keep` names variables of the login that it needs all the same; each must be set there. `clears`: the login shell
    knows `exec -c`; one that does not runs nothing of it.
    """
    say_mark = f"{_SAY_MARK}; "
    return _clearing_line(say_mark, command, keep) if clears else _line(say_mark, command, keep)


def program(argv: Sequence[object]) -> str:
    """The same for a program that takes the place of sh, as sh takes that of the login shell.

    The mark is printed by a process of its own, which ends: sh itself wakes nobody (`RemoteHost.start` has the reason).
    """
    return _line(f"({_SAY_MARK}); ", f"exec {quote(argv)}", ())


def _line(say_mark: str, command: str, keep: Sequence[str]) -> str:
    kept = "".join(f'{name}="${name}" ' for name in keep)
    return f"exec env -i {kept}{_ENVIRONMENT} sh -c {_script(say_mark, command)}"


def _clearing_line(say_mark: str, command: str, keep: Sequence[str]) -> str:
    """What is kept arrives as arguments of sh, which sets it anew and drops them."""
    names = ("HOME", "USER", "PATH", *keep)
    kept = " ".join(f'{name}="${{{at}}}{_MORE_PATH if name == "PATH" else ""}"' for at, name in enumerate(names, 1))
    values = " ".join(f'"${name}"' for name in names)
    return f"exec -c sh -c {_script(f'export {kept} LC_ALL=C; shift {len(names)}; {say_mark}', command, values)}"


def _script(before: str, command: str, values: str = "") -> str:
    """The words after `sh -c`: `before`, which holds no single quote, the command, and the arguments they are given."""
    if _PLAIN.fullmatch(command) and not set(command) & set("!\\"):
        return f"'{before}'{shlex.quote(command)}{f' sh {values}' if values else ''}"
    return f"'{before}eval \"$(printf %b \"$1\")\"' sh {values}{' ' if values else ''}'{_octal(command)}'"


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
