"""The plan of a batch: a YAML file of a user's own. What it does not know is refused by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue

from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.parameters import Words
from benchbook.yamlfile import Strict, load_model

# They have keys of their own, or are the batch's to say.
_NOT_VARIED = ("profile", "inventory", "campaign", "replay", "again")

ParameterName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


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
    """Read a plan. Raises BadInput naming file, key, value and fix."""
    if not user_file.is_there(path):
        fix = "write one: README.md, `Many reports, many hosts`, shows six lines"
        raise BadInput("no such plan", file=path, key="plan", value=str(path), fix=fix)
    plan = load_model(BatchPlan, path, file=str(path))
    for name in plan.parameters:
        if name in _NOT_VARIED:
            fix = "profiles and inventories have keys of their own; every cell is measured, none is opened"
            raise BadInput("is no parameter of a batch", file=path, key=f"parameters.{name}", value=name, fix=fix)
    return plan
