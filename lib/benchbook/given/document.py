"""YAML and JSON that a user wrote: no key twice, nothing nested without end, and no larger than it looks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.composer import Composer, ComposerError
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from benchbook.errors import BadInput, tells_secret

DEEPEST, MOST_VALUES = 40, 100_000
# Its parser takes about a second for 250 kB.
MOST_YAML_BYTES = 300_000
_SYNTAX = "mend the syntax at this place"
_MERGE = "tag:yaml.org,2002:merge"
_BEYOND_YAML = (RecursionError, ValueError, OverflowError)


def yaml_text(text: str, *, file: object = None, key: str = "", fix: str = _SYNTAX) -> object:
    """The value that a YAML text says. Raises BadInput with `key`, or else with line and column."""
    if _FastLoader is not None:
        with suppress(yaml.YAMLError, *_BEYOND_YAML):
            return _FastLoader(text).get_single_data()
        # What is wrong is said by the other, whose words and places do not depend on libyaml.
    try:
        return _PlainLoader(text).get_single_data()
    except yaml.YAMLError as problem:
        # Without its cause: that one quotes the text, in which a password may stand.
        raise _not_yaml(problem, text, file, key, fix) from None
    except _BEYOND_YAML as problem:
        raise BadInput(f"malformed YAML: {problem}", file=file, key=key or "the file", value=text, fix=fix) from None


def json_text(text: str, file: Path) -> object:
    """The value that the JSON of a file says. Raises BadInput naming the file, the place, what is there and the fix."""
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


class _Refused(ValueError):
    """What JSON's parser lets through and a user does not mean."""

    def __init__(self, problem: str, key: str, value: object, fix: str) -> None:
        super().__init__(problem)
        self.key, self.value, self.fix = key, value, fix


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Refused("the key stands twice in one object", key, value, "keep one of the two")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise _Refused("is not JSON: there is no such number", "the file", name, "write a number, or leave it out")


class _Plain(Composer, SafeConstructor, Resolver):
    """YAML's plain part: a second equal key is an error, as are keys that are no words and aliases that never end."""

    def __init__(self) -> None:
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self._below = 0
        # How many values stand below a node with its aliases written out, and how deep, by the node's id.
        self._weights: dict[int, tuple[int, int]] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        # Either parser gives it.
        parser: Any = self
        event = parser.peek_event()
        mark: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            node = self.anchors.get(event.anchor)
            if node is not None and id(node) not in self._weights:
                raise ComposerError(None, None, "a value holds itself", mark)
        self._below += 1
        if self._below > DEEPEST:
            raise ComposerError(None, None, f"nested more than {DEEPEST} deep", mark)
        made = super().compose_node(parent, index)
        self._below -= 1
        if made is not None:
            self._weigh(made)
        return made

    def _weigh(self, node: yaml.Node) -> None:
        parts = list(node.value) if isinstance(node, yaml.CollectionNode) else []
        flat = [part for pair in parts for part in pair] if isinstance(node, yaml.MappingNode) else parts
        below = [self._weights[id(part)] for part in flat]
        size, depth = 1 + sum(w[0] for w in below), 1 + max((w[1] for w in below), default=0)
        if size > MOST_VALUES or depth > DEEPEST:
            what = f"more than {MOST_VALUES:,} values" if size > MOST_VALUES else f"nested more than {DEEPEST} deep"
            raise ComposerError(None, None, f"{what}, with its aliases written out", node.start_mark)
        self._weights[id(node)] = (size, depth)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError, KeyError, IndexError, AttributeError) as problem:
            # Such as the 30th of February, which is read as a date.
            raise ConstructorError(None, None, f"not a value ({problem})", node.start_mark) from problem

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConstructorError(None, None, "a key must be a word", key_node.start_mark)
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class _PlainLoader(_Plain, Reader, Scanner, Parser):
    """As PyYAML reads, in Python."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        _Plain.__init__(self)


_FastLoader: Callable[[str], _Plain] | None = None
if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _LibyamlLoader(_Plain, CParser):
        """The same with libyaml's parser: in a fifth of the time."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            _Plain.__init__(self)

    _FastLoader = _LibyamlLoader


def _not_yaml(problem: yaml.YAMLError, text: str, file: object, key: str, fix: str) -> BadInput:
    said, number, column = _where(problem, text)
    lines = [_line(text, number - 1), _line(text, number)] if number else [_line(text, 0)]
    if any(map(tells_secret, lines)):
        # What is wrong quotes the text at times.
        said = "the syntax is wrong"
    place = f"line {number + 1}, column {column + 1}"
    value = text if key else lines[-1]
    return BadInput(f"malformed YAML: {said}", file=file, key=key or place, value=value, fix=fix)


def _where(problem: yaml.YAMLError, text: str) -> tuple[str, int, int]:
    """What is wrong, and its line and column, counted from 0."""
    mark = getattr(problem, "problem_mark", None)
    if mark is not None:
        return str(getattr(problem, "problem", None) or "it cannot be read"), mark.line, mark.column
    if isinstance(problem, yaml.reader.ReaderError):
        before = text[: problem.position]
        return "a character that YAML does not allow", before.count("\n"), len(before) - before.rfind("\n") - 1
    return str(problem), 0, 0


def _line(text: str, number: int) -> str:
    """A line of the text, as YAML and JSON count them."""
    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)
    return lines[number] if 0 <= number < len(lines) else ""
