"""Relations that could hold between the columns of a table, by their units: what a search for undeclared ones tries.

equal      a = b, and the same in two units
multiple   a = k x b, for whole k
product    a = b x c, b / c, b x c / d, in units that fit: GB x 1024 / s is MB/s
sum        a = b + c, b + 2 c (BEGIN and COMMIT)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, permutations, product
from typing import Literal, NamedTuple

from benchbook.audit.latencies import PrintedPercentile, percentiles
from benchbook.audit.units import Measure, of_name, of_unit
from benchbook.published.declarations import Identity
from benchbook.published.tables import PublishedTable

MULTIPLES = range(2, 51)
MOST_FACTORS = 3
HIGH = 90
"""The lowest percentile that lies above the mean of all but the oddest latencies."""
_CLIENTS = ("threads", "clients", "connections", "concurrency")
_TO_SECONDS = {"_ms": 1000, "_s": 1, "_us": 1000000}
RelationClass = Literal["equal", "multiple", "product of 2", "product of 3", "sum"]


class Relation(NamedTuple):
    """`left`, a printed metric, = `right`, arithmetic over `names`."""

    left: str
    right: str
    names: tuple[str, ...]
    group: RelationClass
    factor: float = 1.0


def measures(table: PublishedTable) -> dict[str, Measure]:
    """Every number that a row of a table has, with its unit; shares in percent are left out."""
    fixed = {name: of_name(name) for name, value in table.fixed.items() if isinstance(value, int | float)}
    columns = {name: of_unit(table.fields[name].unit) for name in table.numeric}
    return {**fixed, **{name: measure for name, measure in columns.items() if measure}}


def relations(table: PublishedTable) -> list[Relation]:
    """Every relation that is tried in a table, each once: a = b x c is b = a / c, and is given for the later column."""
    known = measures(table)
    found: dict[object, Relation] = {}
    for left in (name for name in table.metrics if name in known):
        others = {name: measure for name, measure in known.items() if name != left}
        found |= {_key(one): one for one in _products(left, known[left], others)}
        found |= {one: one for one in _sums(left, known[left], others, table.metrics)}
    return list(found.values())


def bounds(table: PublishedTable) -> Iterator[Identity]:
    """Bounds that hold in any closed loop: the mean time below a percentile, and what workers can have under way."""
    names = measures(table)
    clients = [name for name in names if name in _CLIENTS]
    why = "closed loop: clients / throughput is the mean time (Little's law), which lies below the percentile"
    if "tps" in table.metrics and (percentile := _lowest(table)):
        scale = _TO_SECONDS[percentile.of[1]]
        for name in clients:
            yield Identity(
                id=f"mean_below_{percentile.column}",
                left=f"{name} / tps" + (f" * {scale}" if scale != 1 else ""),
                relation="<=",
                right=percentile.column,
                why=why,
                kind="Little's law",
            )
    yield from _workers(table, names)


def _lowest(table: PublishedTable) -> PrintedPercentile | None:
    """The lowest high percentile of what the load itself saw: p95_ms, and not that of a server (tidb_p99_ms)."""
    own = [one for one in percentiles(table) if not one.of[0] and one.of[1] in _TO_SECONDS and one.percent >= HIGH]
    return min(own, key=lambda one: one.percent, default=None)


def _workers(table: PublishedTable, names: Mapping[str, Measure]) -> Iterator[Identity]:
    workers = [name for name in names if "worker" in name and name not in table.metrics]
    lowest, high = _lowest(table), [one.column for one in percentiles(table) if one.percent >= HIGH]
    times = [name for name in table.metrics if name in names and names[name][:2] == (0, 1) and name not in high]
    times += [lowest.column] if lowest else []
    rates = [name for name in table.metrics if names.get(name) == Measure(0, -1)]
    for worker, rate, time in product(workers if "batch" in names else [], rates, times):
        scale = 1 / names[time].size
        yield Identity(
            id=f"{worker}_carry_{rate}_in_{time}",
            left=rate,
            relation="<=",
            right=f"{worker} * batch * {scale:.12g} / {time}" if scale != 1 else f"{worker} * batch / {time}",
            why="a worker has one batch under way: workers x batch / time bounds the rate",
        )


def _products(left: str, unit: Measure, others: Mapping[str, Measure]) -> Iterator[Relation]:
    for count in range(1, MOST_FACTORS + 1):
        for names in combinations(others, count):
            for powers in product((1, -1), repeat=count):
                yield from _fitting(left, unit, dict(zip(names, powers, strict=True)), others)


def _fitting(left: str, unit: Measure, powers: Mapping[str, int], others: Mapping[str, Measure]) -> Iterator[Relation]:
    """A product, if its unit can be that of `left`: once with 1,000 and once with 1,024 where bytes are converted."""
    bytes_, seconds = (sum(getattr(others[n], of) * p for n, p in powers.items()) for of in ("bytes", "seconds"))
    if (bytes_, seconds) != (unit.bytes, unit.seconds) or not any(power > 0 for power in powers.values()):
        return
    scale = 1 / unit.size
    for name, power in powers.items():
        scale *= others[name].size ** power
    kilo = sum(others[name].kilo * power for name, power in powers.items() if others[name].bytes) - unit.kilo
    for base in (1000, 1024) if kilo else (1,):
        factor = scale * float(base) ** kilo
        yield _relation(left, powers, factor)
    plain = len(powers) == 1 and not kilo and abs(scale - 1) < 1e-9
    yield from (_relation(left, powers, float(k)) for k in MULTIPLES if plain)


def _relation(left: str, powers: Mapping[str, int], factor: float) -> Relation:
    above = [name for name, power in powers.items() if power > 0]
    below = [name for name, power in powers.items() if power < 0]
    above += [f"{factor:.12g}"] if factor > 1 + 1e-9 else []
    below += [f"{1 / factor:.12g}"] if factor < 1 - 1e-9 else []
    right = " / ".join([" * ".join(above), *below])
    whole = len(powers) == 1 and not factor % 1 and int(factor) in MULTIPLES
    group: RelationClass = "multiple" if whole else _SIZES[len(powers)]
    return Relation(left, right, tuple(powers), group, factor)


def _key(relation: Relation) -> object:
    """The same for all ways to solve one product for a column."""
    above, *below = relation.right.split(" / ")
    powers = {(name, 1) for name in above.split(" * ") if name in relation.names}
    powers |= {(name, -1) for name in below if name in relation.names} | {(relation.left, -1)}
    turned = frozenset((name, -power) for name, power in powers)
    factor = relation.factor
    first = min(frozenset(powers), turned, key=sorted)
    return first, f"{factor if first == frozenset(powers) else 1 / factor:.9g}"


_SIZES: dict[int, RelationClass] = {1: "equal", 2: "product of 2", 3: "product of 3"}


def _sums(left: str, unit: Measure, others: Mapping[str, Measure], metrics: list[str]) -> Iterator[Relation]:
    alike = [name for name, measure in others.items() if measure == unit and name in metrics]
    for one, other in combinations(alike, 2):
        yield Relation(left, f"{one} + {other}", (one, other), "sum")
    for one, other in permutations(alike, 2):
        yield Relation(left, f"{one} + 2 * {other}", (one, other), "sum")
    for names in combinations(alike, 3):
        yield Relation(left, " + ".join(names), names, "sum")
