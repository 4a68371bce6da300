"""Arithmetic on printed numbers: each stands for the interval of values that would have been printed alike.

Intervals are carried through + - * / by the rules of interval arithmetic (R. E. Moore, *Interval Analysis*, 1966,
ch. 2). A name that stands twice in an expression counts as two independent ones: the interval is then too wide,
never too narrow, so that a violation is always a real one.

`mean(...)`, `sum(...)`, `min(...)` and `max(...)` go over rows. Here each is a leaf like a column, named by its text;
who has the rows says what it comes to.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum
from statistics import fmean
from typing import Literal, NamedTuple

from benchbook.errors import BadInput

_FIX = "write arithmetic over columns, such as data_gb * 1024 / load_time_s"
_OVER_ROWS = "write mean, sum, min or max of arithmetic, then levels: sum(part, host) or max(tps, component == 'TiDB')"
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd)
AGGREGATES = ("mean", "sum", "min", "max")
_DEEPEST, _LARGEST = 60, 1e30
_CLOSE = 1e-9
"""Relative room for the rounding of binary floating point."""


class Number(NamedTuple):
    """A printed number, or what was computed from some: its value as printed, between `low` and `high`."""

    low: float
    value: float
    high: float


class RowCondition(NamedTuple):
    """Which rows an aggregate takes: those whose `level` is (not) a value, or is what the row at hand has there."""

    level: str
    relation: Literal["==", "!=", "shared"]
    value: str | float | None = None


class Aggregate(NamedTuple):
    """A function over rows: `text` is its name among the numbers of a row, `inner` what it is taken of."""

    text: str
    function: str
    inner: str
    conditions: list[RowCondition]


def exact(value: float) -> Number:
    """Return a number that was set, or counted, and not rounded."""
    return Number(value, value, value)


def rounded(value: float, place: float) -> Number:
    """Return a number printed to the last `place` (0.1 for 14.7): the true one lies within half of it."""
    return Number(value - place / 2, value, value + place / 2)


@lru_cache(maxsize=1024)
def parse(expression: str) -> ast.expr:
    """The tree of an arithmetic expression, not to be changed. Raise BadInput for anything else: it is from files."""
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadInput("it is not an expression", value=expression, fix=_FIX) from error
    if _deeper(tree.body, _DEEPEST):
        raise BadInput(f"it is nested more than {_DEEPEST} deep", value=expression, fix=_FIX)
    for node in _parts(tree.body):
        if isinstance(node, ast.Call) and not _over_rows(node):
            raise BadInput("it is no function over rows", value=expression, fix=_OVER_ROWS)
        if not isinstance(node, ast.Call) and not _plain(node):
            raise BadInput("it is not plain arithmetic", value=expression, fix=_FIX)
    return tree.body


def aggregates(expression: str) -> list[Aggregate]:
    """Return the functions over rows in an expression, each once."""
    calls = [leaf for leaf in _leaves(parse(expression)) if isinstance(leaf, ast.Call)]
    found = [
        Aggregate(ast.unparse(call), _name(call.func), ast.unparse(inner), [_condition(one) for one in conditions])
        for call in calls
        for inner, *conditions in [call.args]
    ]
    return list({one.text: one for one in found}.values())


def names(expression: str) -> list[str]:
    """Return the names in an expression, each once: columns as `tps`, numbers of a text fact as `run_command.threads`.

    A function over rows is one name, its text.
    """
    found = dict.fromkeys(_name(node) for node in _leaves(parse(expression)))
    return list(found)


def all_names(expression: str) -> list[str]:
    """Return the names in an expression, those that functions over rows are taken of in place of the functions."""
    inner = {one.text: names(one.inner) for one in aggregates(expression)}
    return list(dict.fromkeys(name for leaf in names(expression) for name in inner.get(leaf, [leaf])))


def of_the_table(expressions: Sequence[str], columns: Collection[str]) -> bool:
    """Whether expressions are about a table as a whole: they go over rows, and no column stands outside of that."""
    over_rows = [one for expression in expressions for one in aggregates(expression)]
    shared = any(condition.relation == "shared" for one in over_rows for condition in one.conditions)
    own = {name for expression in expressions for name in names(expression)} - {one.text for one in over_rows}
    return bool(over_rows) and not shared and own.isdisjoint(columns)


def bare(expression: str) -> bool:
    """Return whether an expression is one name, and so a number that is printed and not computed."""
    return isinstance(parse(expression), ast.Name | ast.Attribute)


def single(expression: str) -> bool:
    """Return whether an expression is one name, or one function over rows."""
    return isinstance(parse(expression), ast.Name | ast.Attribute | ast.Call)


def over(function: str, numbers: Sequence[Number]) -> Number:
    """Return a function over the numbers of rows, at least one: each end of the interval by itself."""
    columns = zip(*numbers, strict=True)
    low, value, high = (_OVER[function](list(column)) for column in columns)
    return Number(low, value, high)


def evaluate(expression: str, known: Mapping[str, Number]) -> Number | None:
    """Return the interval that an expression can take; None where a name is not printed, or a divisor may be zero."""
    return _evaluate(parse(expression), known)


def spelled(expression: str, show: Callable[[str], str]) -> str:
    """Return the expression with `show(name)` in place of each name: "551 x 20" for "global_tps * sql_per_global"."""
    return ast.unparse(_Spell(show).visit(copy.deepcopy(parse(expression)))).replace(" * ", " x ")


def meet(one: Number, other: Number) -> bool:
    """Return whether two numbers can be the same."""
    return not above(one, other) and not above(other, one)


def above(one: Number, other: Number) -> bool:
    """Return whether `one` is larger than `other` however both were rounded."""
    return one.low > other.high + _CLOSE * max(abs(one.low), abs(other.high))


_OVER: dict[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "sum": fsum, "min": min, "max": max}


def _deeper(tree: ast.expr, most: int) -> bool:
    """Whether it is nested deeper than `most`; asked level by level, for what follows goes down one call per level."""
    level: list[ast.AST] = [tree]
    for _ in range(most):
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return bool(level)


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield a node and those below it; what stands inside of a function over rows is left to `_over_rows`."""
    yield tree
    if not isinstance(tree, ast.Call | ast.Attribute):
        for child in ast.iter_child_nodes(tree):
            if isinstance(child, ast.expr):
                yield from _parts(child)


def _plain(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return isinstance(node.op, _OPERATORS)
    if isinstance(node, ast.Constant):
        number = node.value
        return not isinstance(number, bool) and isinstance(number, int | float) and abs(number) <= _LARGEST
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))


def _over_rows(call: ast.Call) -> bool:
    known = isinstance(call.func, ast.Name) and call.func.id in AGGREGATES
    if not (known and call.args and not call.keywords):
        return False
    inner, *conditions = call.args
    return all(map(_plain, _parts(inner))) and all(map(_is_condition, conditions))


def _is_condition(node: ast.expr) -> bool:
    if not isinstance(node, ast.Compare):
        return isinstance(node, ast.Name)
    value = node.comparators[0]
    compared = isinstance(node.left, ast.Name) and isinstance(value, ast.Constant)
    return compared and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)


def _condition(node: ast.expr) -> RowCondition:
    if not isinstance(node, ast.Compare):
        return RowCondition(_name(node), "shared")
    value = ast.literal_eval(node.comparators[0])
    return RowCondition(_name(node.left), "==" if isinstance(node.ops[0], ast.Eq) else "!=", value)


def _leaves(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.Name | ast.Attribute | ast.Call):
        return [tree]
    return [leaf for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr) for leaf in _leaves(child)]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _evaluate(node: ast.expr, known: Mapping[str, Number]) -> Number | None:
    if isinstance(node, ast.Constant):
        return exact(float(str(node.value)))
    if isinstance(node, ast.UnaryOp):
        inner = _evaluate(node.operand, known)
        negative = isinstance(node.op, ast.USub)
        return Number(-inner.high, -inner.value, -inner.low) if inner and negative else inner
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, known), _evaluate(node.right, known)
        return None if left is None or right is None else _combine(node.op, left, right)
    return known.get(_name(node))


def _combine(operator: ast.operator, a: Number, b: Number) -> Number | None:
    if isinstance(operator, ast.Add):
        return Number(a.low + b.low, a.value + b.value, a.high + b.high)
    if isinstance(operator, ast.Sub):
        return Number(a.low - b.high, a.value - b.value, a.high - b.low)
    if isinstance(operator, ast.Mult):
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Number(min(corners), a.value * b.value, max(corners))
    if b.low <= 0 <= b.high:
        return None
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Number(min(corners), a.value / b.value, max(corners))


class _Spell(ast.NodeTransformer):
    """Puts text in the place of names and numerals; what holds the text is a name that no program could have."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self.show = show

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.show(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.Name:
        return ast.Name(self.show(_name(node)))

    def visit_Call(self, node: ast.Call) -> ast.Name:
        return ast.Name(self.show(_name(node)))

    def visit_Constant(self, node: ast.Constant) -> ast.Name:
        value = node.value
        return ast.Name(f"{value:,}" if isinstance(value, int | float) else str(value))
