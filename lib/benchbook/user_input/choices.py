"""A name that must be one of those there are: what is refused says which these are, and which was likely meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from benchbook.errors import BadInput

# More names than these are not read; the likely ones come first.
_SHOWN = 40


def one_of(
    name: str, known: Iterable[str], what: str, *, problem: str = "", file: str | Path | None = None, key: str = ""
) -> str:
    """`name` itself. Raise BadInput that lists what there is, for a name that is none of it.

    It says that there is no such `what`, or states the `problem`; `key` (else `what`) is where in `file` it stands.
    """
    names = [str(one) for one in known]
    if name in names:
        return name
    near = difflib.get_close_matches(str(name), names, n=3)
    listed = ", ".join(names[:_SHOWN]) + (f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    fix = f"{meant}there are: {listed or 'none'}"
    raise BadInput(problem or f"there is no such {what}", file=file, key=key or what, value=name, fix=fix)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return how a fix begins: "did you mean X? " for a name that is near one of those known, else ""."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}? " if near else ""


def typo_of(name: str, known: Iterable[str]) -> str:
    """The known name that is one letter away, or two letters in the wrong order; "" for it and where there is none."""
    names = sorted(known)
    near = [] if name in names else difflib.get_close_matches(name, names, n=1, cutoff=0.74)
    return next((meant for meant in near if abs(len(meant) - len(name)) <= 1), "")
