"""The plan of a batch: the file, and the cells that it makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue

from benchbook import parameters
from benchbook.errors import BadInput
from benchbook.hosts.inventory import known_inventories, load_inventory
from benchbook.parameters import Words
from benchbook.pipeline import reports
from benchbook.profiles import known_profiles, load_profile
from benchbook.reports.kind import kind_of
from benchbook.user_input import user_file
from benchbook.user_input.bounds import matching
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import Strict, load_model

# They have keys of their own, or are the batch's to say.
_NOT_VARIED = ("profile", "inventory", "campaign", "replay", "again")

ParameterName = Annotated[str, matching(r"[A-Za-z_][A-Za-z0-9_]*", "a parameter's name of letters, digits and _")]


class Excluded(Strict):
    """Cells that are left out: all those for which everything that stands here is so."""

    report: Words | None = None
    inventory: Words | None = None
    profile: Words | None = None
    parameters: dict[ParameterName, JsonValue] = {}


class BatchPlan(Strict):
    """Reports x inventories x profiles x parameters, less `exclude`.

    `inventories` empty: each report's own. `parameters` holds a list of values for each name; a report that does not
    know the name is run without it. `profiles` and `inventories` are names in env/, or files.
    """

    reports: Annotated[list[Words], Field(min_length=1, max_length=1000)]
    inventories: list[Words] = []
    profiles: Annotated[list[Words], Field(min_length=1)] = ["smoke"]
    parameters: dict[ParameterName, Annotated[list[JsonValue], Field(min_length=1)]] = {}
    exclude: list[Excluded] = []
    file: str = ""


def load_plan(path: Path) -> BatchPlan:
    """Read a plan. Raise BadInput naming file, key, value and fix."""
    if not user_file.is_there(path):
        fix = "write one: a list `reports` and, where they differ, `inventories`, `profiles`, `parameters`"
        raise BadInput("no such plan", file=path, key="plan", value=str(path), fix=fix)
    plan = load_model(BatchPlan, path, file=str(path))
    for name in plan.parameters:
        if name in _NOT_VARIED:
            fix = "profiles and inventories have keys of their own; every cell is measured, none is opened"
            raise BadInput("is no parameter of a batch", file=path, key=f"parameters.{name}", value=name, fix=fix)
    return plan


@dataclass(frozen=True)
class BatchCell:
    """One run of one report. `number` counts from 1, `place` is the file of its inventory."""

    number: int
    report: str
    inventory: str
    profile: str
    parameters: tuple[tuple[str, JsonValue], ...]
    place: str

    def __str__(self) -> str:
        return " ".join((self.report, self.inventory, self.profile, *self._pairs()))

    @property
    def names(self) -> tuple[str, str, str, str]:
        """What a table says of it: its number, its report, and its inventory and profile without their folders."""
        return str(self.number), self.report, Path(self.inventory).stem, Path(self.profile).stem

    def words(self) -> tuple[str, ...]:
        """The arguments of `benchbook` that run it, wherever: a worker stands in its checkout, not where we do."""
        where, size = _from_anywhere(self.inventory), _from_anywhere(self.profile)
        said = ("report", self.report, "--profile", size, "--inventory", where)
        return (*said, *(word for pair in self._pairs() for word in ("-p", pair)))

    def _pairs(self) -> list[str]:
        return [f"{name}={json.dumps(value)}" for name, value in self.parameters]


def _from_anywhere(name: str) -> str:
    """Return a name in env/ as it is, a file's path from the root."""
    return str(Path(name).absolute()) if name.endswith((".yaml", ".yml")) else name


def cells_of(plan: BatchPlan) -> list[BatchCell]:
    """The cells in the plan's order. Raise BadInput for an unknown name and an exclusion that excludes nothing."""
    _check_names(plan)
    every = [BatchCell(number, *made) for number, made in enumerate(_combinations(plan), 1)]
    for position, rule in enumerate(plan.exclude):
        if not any(_fits(rule, cell) for cell in every):
            said, fix = rule.model_dump(exclude_defaults=True), "correct it, or remove it"
            raise BadInput("excludes no cell", file=plan.file, key=f"exclude.{position}", value=said, fix=fix)
    kept = [cell for cell in every if not any(_fits(rule, cell) for rule in plan.exclude)]
    if not kept:
        fix = "leave some cells in"
        raise BadInput("every cell is excluded", file=plan.file, key="exclude", value=len(every), fix=fix)
    return kept


def _combinations(plan: BatchPlan) -> Iterator[tuple[str, str, str, tuple[tuple[str, JsonValue], ...], str]]:
    for report in plan.reports:
        known = kind_of(report).Parameters.model_fields
        varied = [[(name, value) for value in values] for name, values in plan.parameters.items() if name in known]
        inventories = plan.inventories or [str(parameters.defaults(report)["inventory"])]
        for inventory, profile, chosen in product(inventories, plan.profiles, product(*varied)):
            yield report, inventory, profile, chosen, _place(inventory)


def _place(inventory: str) -> str:
    """Its file: under two names it is one place, on which one cell runs at a time."""
    return str(Path(load_inventory(inventory).file).resolve())


def _fits(rule: Excluded, cell: BatchCell) -> bool:
    asked = {"report": rule.report, "inventory": rule.inventory, "profile": rule.profile}
    named = all(value in (None, getattr(cell, key)) for key, value in asked.items())
    # A pair that the cell lacks is not so for it.
    return named and all(pair in cell.parameters for pair in rule.parameters.items())


def _check_names(plan: BatchPlan) -> None:
    """Raise BadInput for a name that nobody knows, or that stands there twice, perhaps as a file beside its name."""
    named: dict[str, tuple[list[str], list[str], Callable[[str], object]]] = {
        "reports": (plan.reports, reports(), str),
        "inventories": (plan.inventories, known_inventories(), _place),
        "profiles": (plan.profiles, known_profiles(), lambda name: Path(load_profile(name).file).resolve()),
    }
    for key, (names, known, meant) in named.items():
        for position, name in enumerate(names):
            if key == "reports" or not name.endswith((".yaml", ".yml")):
                _known(plan, f"{key}.{position}", name, known)
        _each_once(plan, key, names, meant)
    fields = {name for report in plan.reports for name in kind_of(report).Parameters.model_fields}
    for name, values in plan.parameters.items():
        _known(plan, f"parameters.{name}", name, sorted(fields))
        _each_once(plan, f"parameters.{name}", values, json.dumps)


def _each_once(plan: BatchPlan, key: str, said: Sequence[Any], meant: Callable[[Any], object]) -> None:
    every = [meant(each) for each in said]
    for position, each in enumerate(every):
        if each in every[:position]:
            fix = "name it once"
            raise BadInput("it is named twice", file=plan.file, key=f"{key}.{position}", value=said[position], fix=fix)


def _known(plan: BatchPlan, key: str, name: str, known: Sequence[str]) -> None:
    one_of(name, known, key, problem="there is none of this name", file=plan.file, key=key)
