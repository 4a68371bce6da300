"""YAML and JSON that a user wrote: no key twice, nothing nested without end, and every number as it looks.

ruamel.yaml reads YAML by the rules of version 1.2. What readers of 1.1 take for something else is refused (`04000` is
2048 to them, `1:30` is 90, `no` is false): files of hosts are read by other programs, too. `1e3`, a text to some of
them, is the number that it looks like.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import SafeRepresenter

from benchbook.errors import BadInput, names_secret, tells_secret

DEEPEST, MOST_VALUES = 40, 100_000
# Of a list of small numbers, its parser takes some ten seconds for this much.
MOST_YAML_BYTES = 150_000
_MERGE = "tag:yaml.org,2002:merge"
_SYNTAX = "mend the syntax at this place"
_TOO_DEEP = f"nested more than {DEEPEST} deep"
# Spellings of numbers and booleans that versions of YAML, or readers of it, take for different things.
_BASED = re.compile(r"[-+]?0(?:x_*[0-9a-f][0-9a-f_]*|o_*[0-7][0-7_]*|b_*[01][01_]*)", re.IGNORECASE)
_GROUPED = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_ZEROS = re.compile(r"[-+]?0[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_BASE_60 = re.compile(r"[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?")
# No-break, thin and zero-width ones, and that of a Chinese keyboard.
_NO_SPACES = "\u00a0\u2007\u2009\u202f\u200b\u2060\ufeff\u3000"
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


class _Refused(ValueError):
    """What a parser lets through and a user does not mean; `mark`: its place in YAML, `key`: the keys above it."""

    def __init__(self, problem: str, *, fix: str = "", mark: Any = None, key: str = "", value: object = None) -> None:
        super().__init__(problem)
        self.fix, self.mark, self.key, self.value = fix, mark, key, value


def yaml_text(text: str, *, file: object = None, key: str = "", fix: str = _SYNTAX) -> object:
    """Return the value that a YAML text says. Raise BadInput with `key`, or else with line and column."""
    reader = _reader()
    try:
        node = reader.compose(text)
        if node is None:
            return None
        _weigh(node, {})
        for scalar, under in _scalars(node, key):
            _check_spelling(scalar, under)
            _check_value(scalar, under, reader)
        return reader.constructor.construct_document(node)
    # Without their cause: it quotes the text, in which a password may stand.
    except (YAMLError, _Refused) as problem:
        raise _not_yaml(problem, text, file, key, fix) from None


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


def json_text(text: str, file: Path) -> object:
    """Return the value that the JSON of a file says. Raise BadInput naming file, place, value and fix."""
    near = "correct the JSON near this line"
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as problem:
        where, line = f"line {problem.lineno}, column {problem.colno}", _line(text, problem.lineno - 1)
        raise BadInput(f"is not JSON: {problem.msg}", file=file, key=where, value=line, fix=near) from problem
    except RecursionError:
        problem_, fix = "is not JSON that can be read: nested too deeply", "write it flat"
        raise BadInput(problem_, file=file, key="the file", value=text[:40], fix=fix) from None
    except _Refused as problem:
        raise BadInput(str(problem), file=file, key=problem.key, value=problem.value, fix=problem.fix) from None
    except ValueError as problem:
        fix = "write numbers of fewer digits"
        raise BadInput(f"is not JSON that can be read: {problem}", file=file, key="the file", fix=fix) from problem


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Refused("the key stands twice in one object", key=key, value=value, fix="keep one of the two")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    fix = "write a number, or leave it out"
    raise _Refused("is not JSON: there is no such number", key="the file", value=name, fix=fix)


def _weigh(node: Node, weights: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many values a node holds with its aliases written out, and how deep; `weights` has the known ones."""
    if id(node) in weights:
        known = weights[id(node)]
        if known is None:
            raise _Refused("a value holds itself", mark=node.start_mark)
        return known
    weights[id(node)] = None
    below = [_weigh(part, weights) for part in _parts(node)]
    size, depth = 1 + sum(w[0] for w in below), 1 + max((w[1] for w in below), default=0)
    if size > MOST_VALUES or depth > DEEPEST:
        what = f"more than {MOST_VALUES:,} values" if size > MOST_VALUES else _TOO_DEEP
        raise _Refused(f"{what}, with its aliases written out", mark=node.start_mark)
    weights[id(node)] = (size, depth)
    return size, depth


def _parts(node: Node) -> list[Node]:
    if not isinstance(node, MappingNode):
        return list(node.value) if isinstance(node, SequenceNode) else []
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            raise _Refused("a key must be a word", mark=key.start_mark)
        if key.value in seen:
            raise _Refused(f"the key {key.value!r} stands twice", mark=key.start_mark)
        seen.add(key.value)
    return [part for pair in node.value for part in pair]


def _scalars(node: Node, under: str) -> Iterator[tuple[ScalarNode, str]]:
    """Yield every plain value and key with the keys that it stands under."""
    if isinstance(node, ScalarNode):
        yield node, under
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            yield key, under
            yield from _scalars(value, f"{under}.{key.value}".strip("."))
    else:
        option = ""
        for place, part in enumerate(node.value):
            yield from _scalars(part, f"{under}.{option or place}".strip("."))
            # As in [--password, x].
            option = part.value if isinstance(part, ScalarNode) and names_secret(part.value) else ""


def _check_spelling(node: ScalarNode, under: str) -> None:
    """Raise _Refused for a number or a boolean that readers of YAML understand in different ways."""
    if node.style in ("'", '"', "|", ">"):
        return
    if node.value != node.value.strip(_NO_SPACES):
        # As copied from a page: it looks like an indent, and YAML takes it for a letter.
        raise _Refused("this only looks like a space", fix="write spaces", mark=node.start_mark, key=under)
    unclear = _unclear(node.value)
    if unclear is None:
        return
    what, meant = unclear
    plain = f"write {meant}" if meant else "write a decimal number"
    said, fix = f"`{node.value}` {what}", f'{plain}, or "{node.value}" in quotes where a text is meant'
    if names_secret(under):
        said, fix = f"what stands here {what}", "put it in quotes"
    raise _Refused(said, fix=fix, mark=node.start_mark, key=under, value=node.value)


def _unclear(text: str) -> tuple[str, str] | None:
    """Return what some readers take a word for, and how to write what it says, if they do not agree on it."""
    if text.lower() in _BOOLEANS:
        return "is true or false to some readers of YAML, and a text to others", _BOOLEANS[text.lower()]
    if _BASED.fullmatch(text):
        # Python does not write numbers of thousands of digits.
        meant = str(int(text.replace("_", ""), 0)) if len(text) < 100 else ""
        return "is a number that is not decimal", meant
    if "_" in text and _GROUPED.fullmatch(text):
        return "is a number with _ in it", re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", text.replace("_", ""))
    if _ZEROS.fullmatch(text):
        meant = text[: text[0] in "+-"] + re.sub(r"^0+(?=[0-9])", "", text.lstrip("+-"))
        return "is a number that begins with 0, which some readers of YAML take for octal", meant
    if _BASE_60.fullmatch(text):
        return "is a number in base 60 to some readers of YAML, and a text to others", ""
    return None


class _Writer(SafeRepresenter):
    """Put every text in quotes that some reader would take for something else, or that `yaml_text` refuses."""

    def represent_str(self, data: str) -> Any:
        unclear = _unclear(data) or data != data.strip(_NO_SPACES)
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"' if unclear else None)


_Writer.add_representer(str, _Writer.represent_str)


def as_yaml(value: object) -> str:
    """Return the value as YAML in lines of at most 120 characters; `yaml_text` reads it again."""
    writer: Any = YAML(typ="safe", pure=True)
    writer.Representer, writer.default_flow_style, writer.width = _Writer, False, 120
    writer.allow_unicode, writer.sort_base_mapping_type_on_output = True, False
    text = StringIO()
    writer.dump(value, text)
    return text.getvalue()


def _check_value(node: ScalarNode, under: str, reader: YAML) -> None:
    """Raise _Refused for what only looks like a value: the 30th of February, a number of 5,000 digits."""
    if node.tag == _MERGE:
        return
    try:
        value = reader.constructor.construct_object(node)
    except (ValueError, OverflowError) as problem:
        raise _Refused(f"not a value ({problem})", mark=node.start_mark) from problem
    if isinstance(value, float) and not math.isfinite(value):
        said, fix = "is no number that can be counted with", "write a number"
        raise _Refused(f"`{node.value}` {said}", fix=fix, mark=node.start_mark, key=under, value=node.value)


def _not_yaml(problem: YAMLError | _Refused, text: str, file: object, key: str, fix: str) -> BadInput:
    said, number, column = _where(problem, text)
    place = f"line {number + 1}, column {column + 1}"
    if isinstance(problem, _Refused) and problem.fix:
        where = problem.key if key else ", ".join(filter(None, [place, problem.key]))
        return BadInput(said, file=file, key=where, value=problem.value, fix=problem.fix)
    lines = [_line(text, number - 1), _line(text, number)] if number else [_line(text, 0)]
    said = f"malformed YAML: {said}"
    opened = getattr(problem, "context_mark", None)
    if "end of stream" in said and opened and re.search("[“”„]", begun := _line(text, opened.line)):
        # As a page prints them: a text begins at the straight one, and has no end.
        place, lines, fix = f"line {opened.line + 1}", [begun], "write straight quotes on both sides"
    if any(map(tells_secret, lines)) or tells_secret(f"{key}:"):
        # What is wrong quotes the text at times.
        said, fix = "malformed YAML: the syntax is wrong", "put the value in quotes"
    value = text if key else lines[-1]
    return BadInput(said, file=file, key=key or place, value=value, fix=fix)


def _where(problem: YAMLError | _Refused, text: str) -> tuple[str, int, int]:
    """Return what is wrong, and its line and column, counted from 0."""
    if isinstance(problem, _Refused):
        return str(problem), problem.mark.line, problem.mark.column
    if isinstance(problem, ReaderError):
        before = text[: problem.position]
        return "a character that YAML does not allow", before.count("\n"), len(before) - before.rfind("\n") - 1
    if not isinstance(problem, MarkedYAMLError) or problem.problem_mark is None:
        return "it cannot be read", 0, 0
    said = _TOO_DEEP if isinstance(problem, MaxDepthExceededError) else problem.problem
    if said and "could not determine a constructor" in said:
        said = "a tag that is not known, or a sign (=) that stands for one"
    return said or "it cannot be read", problem.problem_mark.line, problem.problem_mark.column


def _line(text: str, number: int) -> str:
    """Return a line of the text, as YAML and JSON count them."""
    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)
    return lines[number] if 0 <= number < len(lines) else ""
