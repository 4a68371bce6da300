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

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.user_input.choices import did_you_mean, typo_of
from benchbook.workloads.base import LoadGenerator

# `--name` or `--name=value` with a value that is no path, no list of words and no place to be filled in.
_PLAIN = re.compile(r"--(?P<name>[a-z][a-z0-9_-]*)(?:=(?P<value>[A-Za-z0-9_.,:+-]*))?")

# A level that is a word: neither an option, nor a path, nor a list of words.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:+-]*")


def check(load: type[LoadGenerator[Any]], design: Iterable[TableDesign], allow: Sequence[str], file: Path) -> None:
    """Raise BadInput for a workload or an option that `load` does not know and `allow` does not name."""
    designs = list(design)
    for experiment in designs:
        if experiment.workload not in {*load.workloads, *allow}:
            known = f"use one of {', '.join(sorted(load.workloads)) or 'none'}"
            raise _refused("workload", experiment.workload, load, file, f"design.{experiment.name}.workload", known)
        of_table = {each.workload for each in designs if each.table == experiment.table}
        if experiment.table in load.workloads - of_table and of_table <= load.workloads:
            said = f"table {experiment.table} has the name of another workload"
            key, fix = f"design.{experiment.name}.workload", "correct the workload, or the name"
            raise BadInput(said, file=file, key=key, value=experiment.workload, fix=fix)
        check_options(load, experiment, experiment.options, allow, file)


def check_options(
    load: type[LoadGenerator[Any]], experiment: TableDesign, options: Iterable[str], allow: Sequence[str], file: Path
) -> None:
    """The same, of some options of one design."""
    for option in options:
        plain, key = _PLAIN.fullmatch(option), f"design.{experiment.name}.options"
        if option in allow:
            continue
        if not plain or plain["name"] not in load.known_options:
            raise _refused("option", option, load, file, key, "take it out")
        value, values = plain["value"], load.option_values.get(plain["name"], ())
        if value and values and value not in values:
            known = f"{did_you_mean(value, values)}use one of {', '.join(values)}"
            raise _refused(f"value of --{plain['name']}", option, load, file, key, known)


def check_levels(
    load: type[LoadGenerator[Any]], designs: Iterable[TableDesign], published: Published, others: Collection[str]
) -> None:
    """Raise BadInput for a level that tells a table's rows apart, where `load` does not vary it, nor is it of `others`.

    Its rows would all be put beside the same loads. So it does for a level of `load` that is no plain word or number.
    """
    folder, known = paths.published_dir(published.report.name), {*load.levels, *others}
    for experiment in designs:
        table = published.table(experiment.table)
        file = folder / table.meta.path
        for level in table.meta.table_schema.primary_key:
            if level not in known:
                said = f"{load.name} does not vary this level: all of its rows would be the same load"
                fix = (
                    f"give it the role `note` (levels are {' and '.join(sorted(known))}), name it in `levels` of the "
                    "load generator, or correct `restaged_by`"
                )
                raise BadInput(said, file=file, key=f"column {level}", fix=fix)
        for level in load.levels & {*table.levels}:
            for row in table.cells:
                _check_word(row[level], file, f"column {level}")
        for name, value in experiment.fixed.items():
            key = f"design.{experiment.name}.fixed.{name}"
            if like := typo_of(name, {*known, *load.Size.model_fields}):
                said = f"{load.name} has no setting of this name"
                raise BadInput(said, file=folder / "report.yaml", key=key, value=value, fix=f"write {like}")
            if name in load.levels:
                _check_word(value, folder / "report.yaml", key)


def _check_word(level: object, file: Path, key: str) -> None:
    if isinstance(level, str) and not _WORD.fullmatch(level):
        fix = "write a number, or a word that is no option and no path"
        raise BadInput("cannot be part of a command line", file=file, key=key, value=level, fix=fix)


def _refused(what: str, value: str, load: type[LoadGenerator[Any]], file: Path, key: str, known: str) -> BadInput:
    said = f"{load.name} does not know this {what}, so it is not run on your hosts"
    trusted = f"--allow {shlex.quote(value)} (in the notebook: allow = [{value!r}])"
    return BadInput(said, file=file, key=key, value=value, fix=f"{known}, or, if you trust the report, add {trusted}")
