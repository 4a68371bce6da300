"""Reads a YAML file into a pydantic model; what is wrong is said with file, key, value and fix."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.given.document import MOST_YAML_BYTES, yaml_text

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """A part of a file: a key that it does not know is an error, and nothing changes once it is read."""

    # pydantic would quote what was given, which may be a password, where its own message is shown.
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


def load_yaml(path: Path) -> dict[str, object]:
    """The mapping in a YAML file. Raises BadInput for what is not YAML or not a mapping."""
    value = yaml_text(user_file.text(path, most=MOST_YAML_BYTES), file=path)
    if not isinstance(value, dict):
        raise BadInput(
            "expected keys and values", file=path, key="top level", value=value, fix="write `key: value` lines"
        )
    return value


def load_model(model: type[Model], path: Path, **extra: object) -> Model:
    """The file as `model`; `extra` are fields that the file does not carry itself."""
    return validate(model, {**load_yaml(path), **extra}, path)


def validate(model: type[Model], values: Mapping[str, object], file: object, *, below: str = "") -> Model:
    """`values` as `model`; the first thing wrong becomes a BadInput. `below` is the key of the file that holds them."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        raise bad_input(problem, file, model, below=below) from problem


def bad_input(problem: ValidationError, file: object, model: type[BaseModel], *, below: str = "") -> BadInput:
    """The first of pydantic's findings as one paragraph with a fix."""
    found = problem.errors()
    # A key that is not known explains best what is missing: it was misspelt.
    first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    key = ".".join(str(part) for part in (*filter(None, [below]), *first["loc"])) or "the file"
    more = f" ({problem.error_count() - 1} more like it)" if problem.error_count() > 1 else ""
    said, value = first["msg"].rstrip(".") + more, first.get("input")
    # Of what a key is missing in, its other keys tell where that is.
    value = list(value) if first["type"] == "missing" and isinstance(value, Mapping) else value
    return BadInput(said, file=file, key=key, value=value, fix=_fix(first, model))


def _fix(error: Any, model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return f"remove it or correct its spelling; known here: {', '.join(_siblings(error['loc'], model))}"
    if error["type"] == "missing":
        return "add this key"
    if error["type"] == "string_type" and isinstance(error.get("input"), (bool, int, float, date)):
        # YAML takes a version for a number, a day for a date, and `no` for False.
        return "put it in quotes"
    if error["type"] == "list_type":
        return "write a list, as in [a, b]"
    return "give a value of this kind"


def _siblings(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """The keys that are known where the unknown one stands, as far as plain nesting tells."""
    here: Any = model
    for part in loc[:-1]:
        fields = {field.alias or name: field for name, field in here.model_fields.items()}
        annotation = fields[part].annotation if isinstance(part, str) and part in fields else None
        if annotation is None:
            continue
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if _is_model(a)]
        here = inner[-1] if inner else here
    return sorted(field.alias or name for name, field in here.model_fields.items() if name != "file")


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
