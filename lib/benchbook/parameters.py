"""A notebook's parameters: checked strictly, because papermill only warns of a name that it does not know."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.yamlfile import validate

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]


class Parameters(BaseModel):
    """What every report's notebook can be told. 0, "" and [] mean: as the profile or the report says."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    profile: str = "smoke"
    inventory: str
    repetitions: NotNegative = 0
    seed: NotNegative = 1
    campaign: str = ""
    replay: bool = False


Model = TypeVar("Model", bound=BaseModel)


def tagged_cell(notebook: Path, tag: str = "parameters") -> str:
    """The source of the cell with this tag. Raises BadInput when there is none."""
    # A notebook is JSON; nbformat would check its schema, which takes seconds to load, on every start of a kernel.
    for cell in json.loads(notebook.read_text())["cells"]:
        if tag in cell["metadata"].get("tags", []):
            return "".join(cell["source"])
    raise BadInput("no cell is tagged `parameters`", file=notebook, fix="tag the cell that holds the parameters")


def assigned(source: str) -> dict[str, object]:
    """Names that a cell assigns literal values to."""
    found: dict[str, object] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = ast.literal_eval(statement.value)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            found[statement.target.id] = ast.literal_eval(statement.value)
    return found


def defaults(report: str) -> dict[str, object]:
    """The parameters that a report's notebook has when nobody says otherwise."""
    return assigned(tagged_cell(paths.notebook(report)))


def from_namespace(model: type[Model], report: str, namespace: Mapping[str, object]) -> Model:
    """The parameters as they stand in a running notebook.

    papermill puts its values into a cell that starts with `# Parameters`: every name assigned there must be known.
    """
    ran = namespace.get("In", [])
    cells = [str(cell) for cell in ran] if isinstance(ran, list) else []
    injected = [name for cell in cells if cell.startswith("# Parameters") for name in assigned(cell)]
    names = [*model.model_fields, *injected]
    return check(model, report, {name: namespace[name] for name in names if name in namespace})


def check(model: type[Model], report: str, values: Mapping[str, object]) -> Model:
    """`values` as the report's parameters. Raises BadInput naming notebook, parameter, value and fix."""
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    given = {name: _as_list(value) if name in lists else value for name, value in values.items()}
    return validate(model, given, paths.notebook(report))


def _as_list(value: object) -> object:
    """papermill's own `-p` knows no lists: what is written as one arrives as text."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        # It stays the text that it was, for the check to name.
        return value
