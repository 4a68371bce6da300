"""Reads a YAML file into a pydantic model; what is wrong is said with file, line, key, value and fix."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from benchbook.errors import BadInput, names_secret
from benchbook.user_input import user_file
from benchbook.user_input.choices import did_you_mean
from benchbook.user_input.strict_yaml import MOST_YAML_BYTES, line_of, yaml_text

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """A part of a file: a key that it does not know is an error, and nothing changes once it is read."""

    # pydantic would quote what was given, which may be a password, where its own message is shown.
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


def load_yaml(path: Path) -> dict[str, object]:
    """Return the mapping in a YAML file. Raise BadInput for what is not YAML or not a mapping."""
    value = yaml_text(user_file.text(path, most=MOST_YAML_BYTES), file=path)
    if not isinstance(value, dict):
        raise BadInput(
            "expected keys and values", file=path, key="top level", value=value, fix="write `key: value` lines"
        )
    return value


def load_model(model: type[Model], path: Path, **extra: object) -> Model:
    """Return the file as `model`; `extra` are fields that the file does not carry itself."""
    return validate(model, {**load_yaml(path), **extra}, path)


def validate(model: type[Model], values: Mapping[str, object], file: object, *, below: str = "") -> Model:
    """Return `values` as `model`. Raise BadInput for the first thing wrong, its key below `below`."""
    try:
        return model.model_validate(values)
    except ValidationError as problem:
        raise bad_input(problem, values, file, model, below=below) from problem


def bad_input(
    problem: ValidationError, values: Mapping[str, object], file: object, model: type[BaseModel], *, below: str = ""
) -> BadInput:
    """Return the first of pydantic's findings on `values` as one paragraph, with the line of the key and a fix."""
    found: dict[tuple[str | int, ...], list[Any]] = {}
    for each in problem.errors():
        found.setdefault(_keys(each, values), []).append(each)
    keys = next(iter(found))
    # Of several kinds of value that may stand there, the one that got furthest is the one that is meant.
    keys = max((each for each in found if each[: len(keys)] == keys), key=len)
    # A key that is not known explains best what is missing: it was misspelt.
    keys = next((each for each in found if found[each][0]["type"] == "extra_forbidden"), keys)
    errors = found[keys]
    first, whole = errors[0], [*filter(None, below.split(".")), *keys]
    # A check of ours may know the fix.
    said, _, fix = first["msg"].rstrip(".").removeprefix("Value error, ").partition(". Fix: ")
    fix = fix or _fix(first, model, is_secret=names_secret(".".join(map(str, keys))))
    kinds = list(dict.fromkeys(filter(None, (_KINDS.get(each["type"].split("_")[0]) for each in errors))))
    if len(kinds) > 1:
        said, fix = (
            f"Input should be {' or '.join(filter(None, [', '.join(kinds[:-1]), kinds[-1]]))}",
            "give one of these",
        )
    elif first["type"] in {"model_type", "dict_type"}:
        # pydantic names a class of ours.
        said, fix = "Input should be keys and values", "write `key: value` lines below it"
    elif first["type"] == "too_short":
        said, fix = f"it has {first['ctx']['actual_length']} entries, and needs {first['ctx']['min_length']}", "add one"
    elif first["type"] == "tuple_type":
        said = "Input should be a list"
    elif first["type"] == "extra_forbidden":
        said = "there is no such key"
    more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
    # Of what a key is missing in, its other keys tell where that is.
    value = first.get("input")
    value = list(value) if first["type"] == "missing" and isinstance(value, Mapping) else value
    key = ".".join(str(part) for part in whole if part != "[key]") or "the file"
    return BadInput(said + more, file=file, line=_line(file, whole), key=key, value=value, fix=fix)


# What pydantic's kinds of error, each up to its first `_`, ask for.
_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "dict": "keys and values",
    "model": "keys and values",
    "none": "nothing",
}
_FIXES = {
    "missing": "add this key",
    "invalid": "put it in quotes",
    "literal": "write one of these",
    "list": "write a list, as in [a, b]",
    "tuple": "write a list, as in [a, b]",
    "bool": "write true or false, without quotes",
    "float": "write a number, as in 1.5",
    "finite": "write a number, as in 1.5",
    "string_too_long": "shorten it",
    "string_too_short": "write it, or remove the key",
    "slip": "correct its spelling, or remove it",
    "indent": "indent them",
}


def _keys(error: Any, values: object) -> tuple[str | int, ...]:
    """Return where in `values` an error is: pydantic's place without the names of the types that it has tried."""
    keys: list[str | int] = []
    for place, part in enumerate(error["loc"], start=1):
        is_index = isinstance(values, (list, tuple)) and isinstance(part, int) and part < len(values)
        if is_index or (isinstance(values, Mapping) and part in values):
            values = cast("Any", values)[part]
        elif part != "[key]" and not (error["type"] == "missing" and place == len(error["loc"])):
            continue
        keys.append(part)
    return tuple(keys)


def _line(file: object, keys: Sequence[str | int]) -> int | None:
    path = Path(str(file))
    if path.suffix not in (".yaml", ".yml") or not user_file.is_there(path):
        return None
    return line_of(user_file.text(path, most=MOST_YAML_BYTES), keys)


def _fix(error: Any, model: type[BaseModel], *, is_secret: bool) -> str:
    kind, value = error["type"], error.get("input")
    if kind == "extra_forbidden":
        known = _siblings(error["loc"], model)
        near = did_you_mean(str(error["loc"][-1]), known)
        return f"{near}remove it or correct its spelling; known here: {', '.join(known)}"
    if kind == "form":
        return "write where it is kept, never the secret itself" if is_secret else _without(error["ctx"]["odd"], value)
    if kind == "string_type":
        # YAML takes a version for a number, and a day for a date.
        return "put it in quotes" if isinstance(value, (bool, int, float, date)) else "write one text"
    if kind.startswith("int_"):
        return _whole_number(value)
    if kind in _LIMITS:
        return _within(kind, next(iter(error["ctx"].values())), value)
    return _FIXES.get(kind, _FIXES.get(kind.split("_")[0], "correct it"))


def _without(odd: str, value: object) -> str:
    if not value:
        return "write it, or remove the key"
    return f"write it without {' '.join(map(repr, odd))}" if odd else "correct it"


def _whole_number(value: object) -> str:
    # What begins with 0 is refused without quotes as well.
    if isinstance(value, str) and re.fullmatch("[1-9][0-9]{0,14}", value):
        return f"write {value}, without quotes"
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 10**15
    return f"write {value:.0f}" if is_whole else "write a whole number, as in 10"


_LIMITS = {
    "greater_than_equal": "{:.12g} or more",
    "greater_than": "a number above {:.12g}",
    "less_than_equal": "{:.12g} or less",
    "less_than": "a number below {:.12g}",
}


def _within(kind: str, bound: float, value: object) -> str:
    """Return what to write; a factor that was given as its change, or a share as a percentage, is written out."""
    wanted = f"write {_LIMITS[kind].format(bound)}"
    if bound != 1 or not isinstance(value, int | float):
        return wanted
    if kind.startswith("greater"):
        return f"{wanted}: a factor, as {1 + value:g} for {value:.0%} more" if 0 < value < 1 else wanted
    return f"{wanted}: a share, as {value / 100:g} for {value:g}%" if 1 < value <= 100 else wanted


def _siblings(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the keys that are known where the unknown one stands, as far as plain nesting tells."""
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
