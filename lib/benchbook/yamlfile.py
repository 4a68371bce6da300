"""Reads a YAML file into a pydantic model; what is wrong is said with file, key, value and fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from benchbook.errors import BadInput

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """A part of a file: a key that it does not know is an error, and nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class _UniqueKeys(yaml.SafeLoader):
    """YAML lets the last of two equal keys win silently; here the second one is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> dict[str, object]:
    """The mapping in a YAML file. Raises BadInput for what is not YAML or not a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
        value = yaml.load(text, Loader=_UniqueKeys)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        said = getattr(problem, "problem", None) or str(problem)
        line = text.splitlines()[mark.line : mark.line + 1] if mark else []
        raise BadInput(
            f"malformed YAML: {said}", file=path, key=place, value="".join(line), fix="mend the syntax at this place"
        ) from problem
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
    first = problem.errors()[0]
    key = ".".join(str(part) for part in (*filter(None, [below]), *first["loc"])) or "the file"
    more = f" ({problem.error_count() - 1} more like it)" if problem.error_count() > 1 else ""
    return BadInput(
        first["msg"].rstrip(".") + more, file=file, key=key, value=first.get("input"), fix=_fix(first, model)
    )


def _fix(error: Any, model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return f"remove it or correct its spelling; known here: {', '.join(_siblings(error['loc'], model))}"
    if error["type"] == "missing":
        return "add this key"
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
