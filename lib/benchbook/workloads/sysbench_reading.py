"""How sysbench reads the values of its options, which its `help` does not look at."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress

# A line of remote/reads_options.lua: name, type and value of an option.
_READ = re.compile(r"^read\t(\w+)\t(\w+)\t(.*)$", re.MULTILINE)
IGNORED = "mysql-ignore-errors"


def misread(given: Mapping[str, str], said: str) -> str:
    """An option that is read otherwise than it is written, as a clause; "" where there is none.

    `given`: name -> value, as written; `said`: what remote/reads_options.lua printed. Of a number sysbench takes what
    stands before the first character that is none: `abc` is 0, `2K` is 2.
    """
    read = {name: (kind, value) for name, kind, value in _READ.findall(said)}
    for name, written in given.items():
        kind, value = read.get(name.replace("-", "_"), ("", ""))
        # Lua prints 14 digits.
        if written and kind == "number" and not math.isclose(_number(written), float(value), rel_tol=1e-12):
            return f"reads --{name}={written} as {value}"
    codes = given.get(IGNORED, "").split(",") if given.get(IGNORED) else []
    if wrong := [code for code in codes if code != "all" and not code.isdecimal()]:
        return f"has no server error {wrong[0]!r} to ignore (--{IGNORED} takes numbers, or all)"
    return ""


def _number(written: str) -> float:
    """As C and Lua read it; not a number for what is none."""
    with suppress(ValueError):
        return float(int(written, 0))
    with suppress(ValueError):
        return float(written)
    return math.nan
