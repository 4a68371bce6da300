"""A notebook's parameters: papermill reads them, and only warns of a name that it does not know; here it is refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar, get_origin

from papermill import inspect_notebook
from pydantic import BaseModel, ConfigDict, Field

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.user_input import notebook_file, user_file
from benchbook.user_input.bounds import RepetitionsOrNone, Seed, matching
from benchbook.user_input.choices import one_of
from benchbook.user_input.strict_yaml import json_text, yaml_text
from benchbook.user_input.yaml_file import validate

# A name, a path or an address: a line of text.
Words = Annotated[str, Field(max_length=1000), matching(r"[^\x00-\x1f\x7f]*", "one line of text")]


class Parameters(BaseModel):
    """What every report's notebook can be told. 0, "" and [] mean: as the profile or the report says.

    `again`: a finished campaign is measured anew; without, it is opened. `allow` names workloads and options of the
    report that its load generator does not know, and that may be run all the same (workloads.option_allowlist).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
    profile: Words = "smoke"
    inventory: Words
    repetitions: RepetitionsOrNone = 0
    seed: Seed = 1
    campaign: Words = ""
    replay: bool = False
    again: bool = False
    allow: list[Words] = []


class OnSystems(Parameters):
    """For a report that runs on one system, `system`, or on several side by side, `systems`."""

    system: Words = ""
    systems: list[Words] = []

    def names(self) -> list[str]:
        """Return the systems, each once."""
        return list(dict.fromkeys(self.systems or filter(None, [self.system])))


Model = TypeVar("Model", bound=BaseModel)
# With the outputs that a user has saved in it.
MOST_NOTEBOOK_BYTES = 20_000_000


def defaults(report: str) -> dict[str, object]:
    """Return the parameters that a notebook has when nobody says otherwise: those of its cell tagged `parameters`.

    Raise BadInput for a file that is no notebook, that has no such cell, or where a value is not written out.
    """
    notebook = paths.notebook(report)
    # Refuses what is no file of text, and what is too large to be a notebook.
    content = json_text(user_file.text(notebook, most=MOST_NOTEBOOK_BYTES), notebook)
    cells = content.get("cells") if isinstance(content, dict) else None
    fix = "restore it, or save it from Jupyter"
    if not isinstance(cells, list):
        raise BadInput(
            "is not a notebook", file=notebook, key="cells", value=content if cells is None else cells, fix=fix
        )
    with notebook_file.refusing(notebook, fix=fix):
        found = inspect_notebook(str(notebook))
    if not found:
        fix = "tag the cell that holds the parameters, and write NAME = VALUE lines into it"
        raise BadInput("no cell is tagged `parameters`", file=notebook, key="cells", fix=fix)
    return {name: _literal(name, str(each["default"]), notebook) for name, each in found.items()}


def check_read(report: str) -> None:
    """Raise BadInput for a parameter that no other cell of the report's notebook reads: to set it would do nothing."""
    notebook, known, fix = paths.notebook(report), defaults(report), "restore it, or save it from Jupyter"
    cells = notebook_file.read(notebook, fix=fix).cells
    with notebook_file.refusing(notebook, fix=fix):
        others = [c for c in cells if c.cell_type == "code" and "parameters" not in c.metadata.get("tags", [])]
        read = set[str]().union(*(_names(cell.source) for cell in others))
    for name in known:
        if name not in read:
            fix = f"write {name}={name} into open_report(...), or take it out"
            raise BadInput("no cell reads this parameter", file=notebook, key=name, fix=fix)


def _names(source: str) -> set[str]:
    try:
        found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    except SyntaxError:  # IPython has words of its own
        return {*re.findall(r"\w+", source)}
    return {node.id for node in found if isinstance(node.ctx, ast.Load)}


def _literal(name: str, text: str, notebook: Path) -> object:
    try:
        found: object = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as problem:
        fix = "write a number, a text, True or False, or a list of these"
        what = "a parameter must be written out, it is not run"
        raise BadInput(what, file=notebook, key=name, value=text, fix=fix) from problem
    return found


def check(model: type[Model], report: str, values: Mapping[str, object]) -> Model:
    """Return `values` as the report's parameters. Raise BadInput naming notebook, parameter, value and fix."""
    for name in values:
        one_of(name, model.model_fields, "parameter", file=paths.notebook(report))
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    given = {name: _as_list(value) if name in lists else value for name, value in values.items()}
    found = validate(model, given, paths.notebook(report))
    if isinstance(found, Parameters) and found.campaign and not found.replay:
        # It would be passed over, and hosts be loaded in the place of what was asked for.
        fix = "give replay = True as well, or leave it out to measure"
        what = "it names a recorded campaign, but `replay` is not set"
        raise BadInput(what, file=paths.notebook(report), key="campaign", value=found.campaign, fix=fix)
    return found


def _as_list(value: object) -> object:
    """papermill's own `-p` knows no lists: what is written as one arrives as text."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return yaml_text(value)
    except BadInput:
        # It stays the text that it was, for the check to name.
        return value
