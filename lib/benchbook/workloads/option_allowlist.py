"""What a report may have a load generator run on your hosts: what the generator knows, and what you allow by name.

A report is data, often somebody else's. Its workload and its options end up in a command line: a workload can be the
path of a script, and an option can name a file to be read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchbook.errors import BadInput
from benchbook.published.report_file import TableDesign
from benchbook.workloads.base import LoadGenerator

# `--name` or `--name=value` with a value that is no path, no list of words and no place to be filled in.
_PLAIN = re.compile(r"--(?P<name>[a-z][a-z0-9_-]*)(?:=[A-Za-z0-9_.,:+-]*)?")

# A level that is a word: neither an option, nor a path, nor a list of words.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:+-]*")


def check(load: type[LoadGenerator[Any]], design: Iterable[TableDesign], allow: Sequence[str], file: Path) -> None:
    """Raise BadInput for a workload or an option that `load` does not know and `allow` does not name."""
    for experiment in design:
        if experiment.workload not in {*load.workloads, *allow}:
            known = f"use one of {', '.join(sorted(load.workloads)) or 'none'}"
            raise _refused("workload", experiment.workload, load, file, f"design.{experiment.name}.workload", known)
        check_options(load, experiment, experiment.options, allow, file)


def check_options(
    load: type[LoadGenerator[Any]], experiment: TableDesign, options: Iterable[str], allow: Sequence[str], file: Path
) -> None:
    """The same, of some options of one design."""
    for option in options:
        plain = _PLAIN.fullmatch(option)
        if not (plain and plain["name"] in load.known_options) and option not in allow:
            known = "take it out"
            raise _refused("option", option, load, file, f"design.{experiment.name}.options", known)


def check_levels(
    load: type[LoadGenerator[Any]], design: Iterable[TableDesign], others: Collection[str], file: Path
) -> None:
    """Raise BadInput for a factor that `load` does not vary and that is none of `others`, which something else does.

    Its rows would all be put beside the same loads. So it does for a level of `load` that is no plain word or number.
    """
    for experiment in design:
        key = f"design.{experiment.name}.factors"
        for factor, levels in experiment.factors.items():
            if factor not in {*load.levels, *others}:
                known = " and ".join(sorted({*load.levels, *others}))
                said = f"{load.name} does not vary this factor: all of its rows would be the same load"
                fix = f"vary {known} alone, name it in `levels` of the load generator, or correct `restaged_by`"
                raise BadInput(said, file=file, key=f"{key}.{factor}", value=levels, fix=fix)
        stated = {**{name: [value] for name, value in experiment.fixed.items()}, **experiment.factors}
        for name in load.levels & stated.keys():
            if odd := [level for level in stated[name] if isinstance(level, str) and not _WORD.fullmatch(level)]:
                fix = "write a number, or a word that is no option and no path"
                raise BadInput(
                    "cannot be part of a command line", file=file, key=f"{key}.{name}", value=odd[0], fix=fix
                )


def _refused(what: str, value: str, load: type[LoadGenerator[Any]], file: Path, key: str, known: str) -> BadInput:
    return BadInput(
        f"{load.name} does not know this {what}, so it is not run on your hosts",
        file=file,
        key=key,
        value=value,
        fix=f"{known}, or, if you trust the report, add --allow {shlex.quote(value)} "
        f"(in the notebook: allow = [{value!r}])",
    )
