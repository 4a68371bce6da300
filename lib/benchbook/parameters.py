"""A notebook's parameters: checked strictly, because papermill only warns of a name that it does not know."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, Field

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.given.bounds import RepetitionsOrNone, Seed
from benchbook.given.document import json_text, yaml_text
from benchbook.given.named import one_of
from benchbook.grouping import grouped
from benchbook.yamlfile import validate

# A name, a path or an address: a line of text.
Words = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]


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

    system: Words
    systems: list[Words] = []

    def names(self) -> list[str]:
        """The systems, each once."""
        return list(dict.fromkeys(self.systems or [self.system]))


Model = TypeVar("Model", bound=BaseModel)
# With the outputs that a user has saved in it.
MOST_NOTEBOOK_BYTES = 20_000_000


class _CellMetadata(BaseModel):
    tags: list[str] = []


class _Cell(BaseModel):
    cell_type: str = "code"
    metadata: _CellMetadata = _CellMetadata()
    source: str | list[str] = ""


class _Notebook(BaseModel):
    """Of a notebook's file, what is read here."""

    nbformat: Annotated[int, Field(ge=4, le=4)] = 4
    cells: list[_Cell]


def parameters_cell(notebook: Path) -> str:
    """The source of the cell that is tagged `parameters`.

    Raises BadInput for a file that is no notebook, and when there is none.
    """
    cells = _cells(notebook)
    for cell in cells:
        if "parameters" in cell.metadata.tags:
            return "".join(cell.source)
    fix = "tag the cell that holds the parameters"
    raise BadInput("no cell is tagged `parameters`", file=notebook, key="cells", value=len(cells), fix=fix)


def code_cells(notebook: Path) -> list[str]:
    """The sources of its cells of code. Raises BadInput for a file that is no notebook."""
    return ["".join(cell.source) for cell in _cells(notebook) if cell.cell_type == "code"]


def _cells(notebook: Path) -> list[_Cell]:
    # A notebook is JSON; nbformat would check its schema, which takes seconds to load, on every start of a kernel.
    held = json_text(user_file.text(notebook, most=MOST_NOTEBOOK_BYTES), notebook)
    if not isinstance(held, dict):
        fix = "restore it, or save it from Jupyter"
        raise BadInput("is not a notebook", file=notebook, key="the file", value=held, fix=fix)
    return validate(_Notebook, held, notebook).cells


def assigned(source: str, notebook: Path | None = None) -> dict[str, object]:
    """Names that a cell assigns literal values to. Raises BadInput for one that would have to be run."""
    found: dict[str, object] = {}
    for statement in _statements(source, notebook):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and statement.value:
            found[target.id] = _literal(target.id, statement.value, source, notebook)
    return found


def _statements(source: str, notebook: Path | None) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        line = getattr(problem, "lineno", None)
        raise BadInput(
            "the cell with the parameters is not Python",
            file=notebook,
            key=f"line {line} of the cell" if line else "the cell",
            value=(getattr(problem, "text", None) or str(problem)).strip(),
            fix="write NAME = VALUE lines",
        ) from None


def _literal(name: str, value: ast.expr, source: str, notebook: Path | None) -> object:
    try:
        found: object = ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError, MemoryError) as problem:
        raise BadInput(
            "a parameter must be written out, it is not run",
            file=notebook,
            key=name,
            value=source.splitlines()[value.lineno - 1].strip(),
            fix="write a number, a text, True or False, or a list of these",
        ) from problem
    return found


def defaults(report: str) -> dict[str, object]:
    """The parameters that a report's notebook has when nobody says otherwise."""
    notebook = paths.notebook(report)
    return assigned(parameters_cell(notebook), notebook)


def from_namespace(model: type[Model], report: str, namespace: Mapping[str, object]) -> Model:
    """The parameters as they stand in a running notebook.

    papermill puts its values into a cell that starts with `# Parameters`: every name assigned there must be known, and
    so must be every one with a type in the notebook's own cell, which a user edits. What such a cell said before it was
    changed and run again does not count.
    """
    notebook = paths.notebook(report)
    injected, others = _cells_run(namespace)
    by_hand = [names for cell in others if _are_most(names := _annotated(cell), model)]
    names = [*model.model_fields, *chain(*(assigned(cell, notebook) for cell in injected[-1:]), *by_hand[-1:])]
    return check(model, report, {name: namespace[name] for name in names if name in namespace})


def check_injected(namespace: Mapping[str, object]) -> None:
    """Raises BadInput for a name that papermill was given and no other cell of the running notebook has a value for.

    For a notebook whose parameters no model describes, as an analysis of one's own; `namespace` is its `globals()`.
    """
    injected, others = _cells_run(namespace)
    own = dict.fromkeys(chain(*map(_annotated, others)))
    for name in chain(*(assigned(cell) for cell in injected[-1:])):
        one_of(name, own, "parameter")


def _cells_run(namespace: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """The cells that ran in a notebook: those into which papermill put its values, and all others."""
    ran = namespace.get("In", [])
    cells = [str(cell) for cell in ran] if isinstance(ran, list) else []
    found = grouped(cells, lambda cell: cell.startswith("# Parameters"))
    return found.get(True, []), found.get(False, [])


def _annotated(cell: str) -> list[str]:
    """Names that a cell gives a value and a type; none in one that is not plain Python."""
    try:
        statements = _statements(cell, None)
    except BadInput:
        return []
    targets = [one.target for one in statements if isinstance(one, ast.AnnAssign) and one.value]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _are_most(names: Sequence[str], model: type[BaseModel]) -> bool:
    """Whether these are the model's parameters, but for a few that are not or have another name."""
    return 2 * len(set(names) & model.model_fields.keys()) > len(model.model_fields)


def check(model: type[Model], report: str, values: Mapping[str, object]) -> Model:
    """`values` as the report's parameters. Raises BadInput naming notebook, parameter, value and fix."""
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    floats = {name for name, field in model.model_fields.items() if field.annotation is float}
    given = {
        name: _as_list(value) if name in lists else _as_float(value) if name in floats else value
        for name, value in values.items()
    }
    found = validate(model, given, paths.notebook(report))
    if isinstance(found, Parameters) and found.campaign and not found.replay:
        # It would be passed over, and hosts be loaded in the place of what was asked for.
        fix = "give replay = True as well, or leave it out to measure"
        what = "it names a recorded campaign, and nothing is to be replayed"
        raise BadInput(what, file=paths.notebook(report), key="campaign", value=found.campaign, fix=fix)
    return found


def _as_float(value: object) -> object:
    """For YAML a number without a point is text, 1e-3 say: on a command line, and in a plan as a batch passes it on."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _as_list(value: object) -> object:
    """papermill's own `-p` knows no lists: what is written as one arrives as text."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return yaml_text(value)
    except BadInput:
        # It stays the text that it was, for the check to name.
        return value
