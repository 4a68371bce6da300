"""The cells of a plan: every combination, less those that are excluded; names that are not known are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from pydantic import JsonValue

from benchbook import parameters
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.batch_plan import BatchPlan, Excluded
from benchbook.errors import BadInput
from benchbook.given.named import one_of
from benchbook.hosts.inventory import known_inventories, load_inventory
from benchbook.pipeline import reports
from benchbook.profiles import known_profiles, load_profile
from benchbook.reports.kinds import kind_of


def cells_of(plan: BatchPlan) -> list[BatchCell]:
    """The cells in the plan's order. Raises BadInput for an unknown name and an exclusion that excludes nothing."""
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
    known = reports()
    _each_known(plan, "reports", plan.reports, known)
    _each_known(plan, "inventories", plan.inventories, known_inventories())
    _each_known(plan, "profiles", plan.profiles, known_profiles())
    _each_once(plan, "reports", plan.reports, plan.reports)
    _each_once(plan, "inventories", plan.inventories, [_place(name) for name in plan.inventories])
    _each_once(
        plan, "profiles", plan.profiles, [str(Path(load_profile(name).file).resolve()) for name in plan.profiles]
    )
    for name, values in plan.parameters.items():
        _each_once(plan, f"parameters.{name}", values, [json.dumps(value) for value in values])
    fields = {name for report in plan.reports for name in kind_of(report).Parameters.model_fields}
    for name in plan.parameters:
        _known(plan, f"parameters.{name}", name, sorted(fields))


def _each_known(plan: BatchPlan, key: str, names: Sequence[str], known: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if not name.endswith((".yaml", ".yml")) or key == "reports":
            _known(plan, f"{key}.{position}", name, known)


def _each_once(plan: BatchPlan, key: str, said: Sequence[object], meant: Sequence[str]) -> None:
    """Raises BadInput for what stands there before, perhaps in other words: a file beside its name in env/."""
    for position, each in enumerate(meant):
        if each in meant[:position]:
            fix = "name it once"
            raise BadInput("it is named twice", file=plan.file, key=f"{key}.{position}", value=said[position], fix=fix)


def _known(plan: BatchPlan, key: str, name: str, known: Sequence[str]) -> None:
    one_of(name, known, key, problem="there is none of this name", file=plan.file, key=key)
