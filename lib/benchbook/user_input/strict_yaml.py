"""YAML and JSON that a user wrote: YAML 1.2 as ruamel.yaml reads it, no key twice, nothing nested without end."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.reader import ReaderError

from benchbook.errors import BadInput, tells_secret

DEEPEST = 40
# Of a list of small numbers, its parser takes some ten seconds for this much.
MOST_YAML_BYTES = 150_000
_SYNTAX = "mend the syntax at this place"


def yaml_text(text: str, *, file: object = None, key: str = "", fix: str = _SYNTAX) -> object:
    """Return the value that a YAML text says. Raise BadInput with `key`, or else with line and column."""
    try:
        return _reader().load(text)
    # Without their cause: it quotes the text, in which a password may stand.
    except YAMLError as problem:
        raise _not_yaml(problem, text, file, key, fix) from None
    except (ValueError, OverflowError) as problem:
        # A day, or a number of thousands of digits, that Python does not take.
        raise BadInput(f"not a value ({problem})", file=file, key=key or "the file", value=text, fix=fix) from None


def line_of(text: str, keys: Sequence[str | int]) -> int | None:
    """Return the line, from 1, of what stands below these keys in a YAML text, or of the last of them that is there.

    In a list of mappings, a word stands for the one with this `id`.
    """
    try:
        node = _reader().compose(text)
    except YAMLError:
        return None
    line = None
    for key in keys:
        pairs: list[tuple[Node, Node]] = []
        if isinstance(node, MappingNode):
            pairs = [(name, value) for name, value in node.value if name.value == str(key)]
        elif isinstance(node, SequenceNode) and isinstance(key, int):
            pairs = [(part, part) for part in node.value[key : key + 1]]
        elif isinstance(node, SequenceNode):
            pairs = [(part, part) for part in node.value if _id(part) == key]
        if not pairs:
            break
        line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
    return line


def _id(node: Node) -> object:
    named = node.value if isinstance(node, MappingNode) else []
    return next((value.value for name, value in named if name.value == "id"), None)


def _reader() -> YAML:
    reader = YAML(typ="safe", pure=True)
    # It composes by recursion.
    reader.max_depth = DEEPEST
    reader.composer.warn_double_anchors = False
    return reader


def as_yaml(value: object) -> str:
    """Return the value as YAML in lines of at most 120 characters; `yaml_text` reads it again."""
    writer: Any = YAML(typ="safe", pure=True)
    writer.default_flow_style, writer.width = False, 120
    writer.allow_unicode, writer.sort_base_mapping_type_on_output = True, False
    text = StringIO()
    writer.dump(value, text)
    return text.getvalue()


def json_text(text: str, file: Path) -> object:
    """Return the value that the JSON of a file says. Raise BadInput naming file, place, value and fix."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as problem:
        where, line = f"line {problem.lineno}, column {problem.colno}", _line(text, problem.lineno - 1)
        fix = "correct the JSON near this line"
        raise BadInput(f"is not JSON: {problem.msg}", file=file, key=where, value=line, fix=fix) from problem
    except (ValueError, RecursionError) as problem:
        said = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise BadInput(f"is not JSON that can be read: {said}", file=file, key="the file", fix="correct it") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f'found duplicate key "{next(name for name in names if names.count(name) > 1)}"')
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _not_yaml(problem: YAMLError, text: str, file: object, key: str, fix: str) -> BadInput:
    said, number, column = _where(problem, text)
    place = f"line {number + 1}, column {column + 1}"
    lines = [_line(text, number - 1), _line(text, number)] if number else [_line(text, 0)]
    said = f"malformed YAML: {said}"
    if "end of stream" in said and (curly := re.search('[“”„][^"\n]*"|"[^"\n]*[“”„]', text)):
        # As a page prints them: a text begins at the straight one, and has no end.
        number = text.count("\n", 0, curly.start())
        place, lines, fix = f"line {number + 1}", [_line(text, number)], "write straight quotes on both sides"
    if any(map(tells_secret, lines)) or tells_secret(f"{key}:"):
        # What is wrong quotes the text at times.
        said, fix = "malformed YAML: the syntax is wrong", "put the value in quotes"
    value = text if key else lines[-1]
    return BadInput(said, file=file, key=key or place, value=value, fix=fix)


def _where(problem: YAMLError, text: str) -> tuple[str, int, int]:
    """Return what is wrong, and its line and column, counted from 0."""
    if isinstance(problem, ReaderError):
        before = text[: problem.position]
        return "a character that YAML does not allow", before.count("\n"), len(before) - before.rfind("\n") - 1
    if not isinstance(problem, MarkedYAMLError) or problem.problem_mark is None:
        return "it cannot be read", 0, 0
    said = problem.problem or "it cannot be read"
    if isinstance(problem, MaxDepthExceededError):
        said = f"nested more than {DEEPEST} deep"
    elif isinstance(problem, DuplicateKeyError):
        # It goes on with both values.
        said = said.partition(" with value")[0]
    elif "could not determine a constructor" in said:
        said = "a tag that is not known, or a sign (=) that stands for one"
    return said, problem.problem_mark.line, problem.problem_mark.column


def _line(text: str, number: int) -> str:
    """Return a line of the text, as YAML and JSON count them."""
    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)
    return lines[number] if 0 <= number < len(lines) else ""
