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
_PRINT_MARK = 'printf "\\036benchbook\\036\\n"; printf "\\036benchbook\\036\\n" >&2; '
_PLAIN = re.compile(r"[ -~]*")
_SAFE = re.compile(r"[A-Za-z0-9 _./:=,+-]")


def quote(argv: Sequence[object]) -> str:
    """Return words as one shell command in which no word is ever interpreted."""
    return shlex.join(map(str, argv))


def login_line(command: str, keep: Sequence[str] = ()) -> str:
    """Return the line for the login shell by which sh runs `command`, in an environment that no profile can change.

    `keep` names variables of the login that the command needs all the same; each must be set there.
    """
    kept = "".join(f'{name}="${name}" ' for name in keep)
    if _PLAIN.fullmatch(command) and not set(command) & set("!\\"):
        script = f"'{_PRINT_MARK}'{shlex.quote(command)}"
    else:
        # Each character that some shell might read, as the bytes that `printf %b` makes of \0ooo.
        octal = "".join(c if _SAFE.match(c) else "".join(f"\\0{b:03o}" for b in c.encode()) for c in command)
        script = f"""'{_PRINT_MARK}eval "$(printf %b "$1")"' sh '{octal}'"""
    return f"exec env -i {kept}{_ENVIRONMENT} sh -c {script}"


def own_output(output: str) -> str:
    """Return what the command printed, without what the login shell printed before it."""
    before, mark, after = output.partition(_MARK)
    return after if mark else before


def login_output(output: str) -> str:
    """Return what the login shell printed before the command ran."""
    return output.partition(_MARK)[0]


def has_run(output: str) -> bool:
    """Return whether the login shell has run the command."""
    return _MARK in output
