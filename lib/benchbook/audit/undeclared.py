"""Relations that hold in a report's tables and are not declared: `benchbook check REPORT --suggest`.

How chance is bounded. Two columns whose ratio is by nature the same in all rows agree by luck in all of them or in
none, so rows do not count as independent: what counts is how far the rounding of all rows together leaves that ratio
open, as a share of a decade. Rows count anew only where a count or a setting in the expression changes, as the ratio
would have to change along, and in rows of another kind (a level in words, such as a component). That share, times the
number of relations of its class that were tried in the table, is the number of such relations that chance alone would
give (Bonferroni): up to `FEW` they are suggested, up to `SOME` they are given as comments, and beyond that not at all.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.candidates import Relation, RelationClass, bounds, measures, relations
from benchbook.audit.judgement import state
from benchbook.grouping import grouped
from benchbook.published.arithmetic import Number, bare, evaluate, exact
from benchbook.published.declarations import Identity, Scalar
from benchbook.published.tables import Published, PublishedTable

FEW, SOME = 0.05, 0.5
ROWS_WITH_ONE_ODD = 5
"""The fewest rows in which a relation that fails in a single one is still suggested: that one may be the slip."""
FLOOR = 1e-6
FAR = 20.0
"""A bound that is further off than this in every row checks too little to be declared."""
_PLAIN: dict[RelationClass, int] = {"equal": 0, "product of 2": 1, "multiple": 2, "sum": 3, "product of 3": 4}
_TRIALS = 3


class Proposal(NamedTuple):
    """A relation of a table that is not declared: in which rows it holds, and how many such chance would give.

    A bound has no such number: it follows from how a closed loop works, if the load is one.
    """

    table: str
    identity: Identity
    rows: int
    odd: list[str]
    by_chance: float | None


class _Held(NamedTuple):
    table: PublishedTable
    relation: Relation
    rows: dict[str, Scalar]
    spans: dict[tuple[object, ...], Number]
    used: set[int]
    odd: list[int]
    tried: int


def undeclared(published: Published) -> list[Proposal]:
    """Every relation that is worth declaring, the surest of each table first, in its plainest form; then bounds."""
    held = [one for table in published.tables.values() for one in _of_table(published, table)]
    alike = grouped(held, lambda one: (one.relation, tuple(one.rows)))
    chances = {id(one): _chance(one, same) for same in alike.values() for one in same}
    kept: list[_Held] = []
    for one in sorted(held, key=lambda one: (_PLAIN[one.relation.group], bool(one.rows), chances[id(one)])):
        if chances[id(one)] <= SOME and not _follows(published, one, kept):
            kept.append(one)
    found = [_proposal(one, chances[id(one)]) for one in kept]
    order = list(published.tables)
    equalities = sorted(found, key=lambda one: (order.index(one.table), one.by_chance or 0.0))
    return [*equalities, *(bound for table in published.tables.values() for bound in _bounds(published, table))]


def _together(same: list[_Held]) -> float:
    """The share of chance, of all tables in which a relation holds; rows are counted anew where a setting changes."""
    spans: dict[tuple[object, ...], Number] = {}
    for settings, span in (item for one in same for item in one.spans.items()):
        spans[settings] = _meet(spans[settings], span) if settings in spans else span
    return math.prod(_share(span) for span in spans.values())


def _share(span: Number) -> float:
    """What an interval of ratios takes of a decade."""
    return max(FLOOR, math.log(span.high / span.low) / math.log(10)) if span.high > span.low > 0 else FLOOR


def _chance(one: _Held, same: list[_Held]) -> float:
    """How many such relations chance alone would give."""
    return min(1.0, _together(same) * min(other.tried for other in same) * (1 + len(one.odd) * len(one.used)))


def _proposal(one: _Held, by_chance: float) -> Proposal:
    where = "".join(f" of {name} {value}" for name, value in one.rows.items())
    count = f"{len(one.used)} of {len(one.used) + len(one.odd)}" if one.odd else f"all {len(one.used)}"
    names_ = [one.relation.left, "is", *one.relation.names, *map(str, one.rows.values())]
    identity = Identity(
        id="_".join(names_).replace(" ", "_"),
        left=one.relation.left,
        relation="=",
        right=one.relation.right,
        rows=one.rows,
        why=f"it holds in {count} rows{where}",
    )
    return Proposal(
        one.table.id, identity, len(one.used), [numbers.label(one.table, row) for row in one.odd], by_chance
    )


# -- bounds ---------------------------------------------------------------------------------------------------------


def _bounds(published: Published, table: PublishedTable) -> Iterator[Proposal]:
    declared = {(one.left, one.relation, one.right) for one in table.identities}
    for bound in bounds(table):
        for rows in [{}, *_groups(table)]:
            known = [numbers.of_row(published, table, row) for row in table.matching(rows)]
            states = [found for numbers_ in known if (found := state(bound, numbers_))]
            if states and set(states) == {"holds"} and any(_near(bound, numbers_) for numbers_ in known):
                if (bound.left, bound.relation, bound.right) not in declared:
                    yield Proposal(table.id, bound.model_copy(update={"rows": rows}), len(states), [], None)
                break


def _near(bound: Identity, known: Mapping[str, Number]) -> bool:
    """Whether a slip of a decimal point or two would break a bound: further off it checks little."""
    left, right = evaluate(bound.left, known), evaluate(bound.right, known)
    return bool(left and right and left.value * FAR >= right.value)


# -- where a relation holds -----------------------------------------------------------------------------------------


def _of_table(published: Published, table: PublishedTable) -> Iterator[_Held]:
    known = {row: numbers.of_row(published, table, row) for row in numbers.rows(table)}
    groups = _groups(table)
    tried = relations(table)
    classes = Counter(relation.group for relation in tried)
    for relation in tried:
        whole = _held(table, relation, {}, known, classes[relation.group])
        if whole:
            yield whole
            continue
        for rows in groups:
            held = _held(table, relation, rows, known, classes[relation.group] * len(groups))
            if held:
                yield held


def _groups(table: PublishedTable) -> list[dict[str, Scalar]]:
    """Rows of one component, mode or kind: a level that is text makes rows that need not obey the same rule."""
    keys = [key for key in table.meta.table_schema.primary_key if key not in table.numeric]
    values = {key: dict.fromkeys(row[key] for row in table.cells) for key in keys}
    return [{key: str(value)} for key in keys for value in values[key]]


def _held(
    table: PublishedTable,
    relation: Relation,
    rows: dict[str, Scalar],
    known: Mapping[int, Mapping[str, Number]],
    tried: int,
) -> _Held | None:
    identity = _identity(relation)
    spans: dict[tuple[object, ...], Number] = {}
    used, odd = set[int](), list[int]()
    for row in table.matching(rows):
        found = state(identity, dict(known[row]))
        odd += [row] if found == "broken" else []
        if len(odd) > 1:
            return None
        span = _ratio(relation, known[row]) if found in {"holds", "truncated"} else None
        if span:
            settings = (*_settings(table, relation, known[row]), *rows.values())
            spans[settings] = _meet(spans[settings], span) if settings in spans else span
            used.add(row)
    enough = len(used) >= ROWS_WITH_ONE_ODD if odd else bool(used)
    return _Held(table, relation, rows, spans, used, odd, tried) if enough else None


def _ratio(relation: Relation, known: Mapping[str, Number]) -> Number | None:
    """How far rounding leaves left / right open; a figure whose digits may be cut off is twice as open."""
    left, right = known[relation.left], evaluate(relation.right, known)
    if right is None or left.low <= 0 or right.low <= 0:
        return None
    return Number(left.low / right.high, left.value / right.value, (2 * left.high - left.value) / right.low)


def _meet(one: Number, other: Number) -> Number:
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Number(low, one.value, max(low, high))


def _settings(table: PublishedTable, relation: Relation, known: Mapping[str, Number]) -> tuple[object, ...]:
    """What was set or counted, of the numbers in a relation."""
    return tuple(known[name].value for name in relation.names if name not in table.metrics)


# -- what is declared, or follows from it -----------------------------------------------------------------------------


def _follows(published: Published, one: _Held, kept: list[_Held]) -> bool:
    """Whether a relation follows from what is declared for its rows, and from plainer ones that hold there.

    Tried with numbers by chance that fulfil all of these: it follows if they fulfil it, too.
    """
    declared = [
        identity
        for identity in one.table.identities
        if identity.relation == "=" and one.used <= set(one.table.matching(identity.rows))
    ]
    plainer = [_identity(other.relation) for other in kept if other.table is one.table and one.used <= other.used]
    chance = random.Random(one.relation.right)
    printed = numbers.of_row(published, one.table, min(one.used))
    own = set(measures(one.table)) - set(one.table.fixed)
    for _ in range(_TRIALS):
        values = {name: exact(chance.uniform(1, 9)) if name in own else number for name, number in printed.items()}
        for identity in [*declared, *plainer] * 2:
            _fulfil(identity, values)
        right = evaluate(one.relation.right, values)
        if right is None or not math.isclose(values[one.relation.left].value, right.value, rel_tol=1e-6):
            return False
    return True


def _fulfil(identity: Identity, values: dict[str, Number]) -> None:
    """Sets the one column that stands alone on a side to what the other side comes to."""
    for name, expression in ((identity.left, identity.right), (identity.right, identity.left)):
        result = evaluate(expression, values)
        if bare(name) and name in values and result is not None:
            values[name] = exact(result.value)
            return


def _identity(relation: Relation) -> Identity:
    return Identity(id="tried", left=relation.left, relation="=", right=relation.right, why="")
