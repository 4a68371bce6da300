"""Slips of whoever transcribes a report, which no rule refuses: words that disagree with the numbers beside them."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any

from benchbook.claims import ledger
from benchbook.claims.figures import Term
from benchbook.claims.hypothesis import Hypothesis
from benchbook.documents.amounts import COUNTS, DOWN, UP
from benchbook.documents.numerals import NO_FIGURE, UNITS, Figure, figures
from benchbook.documents.units import SECONDS, is_rate, is_time
from benchbook.published.arithmetic import names
from benchbook.published.report_file import HostFact
from benchbook.published.tables import Published, PublishedTable
from benchbook.user_input.choices import did_you_mean, typo_of

_SIZES = (1.0, 1e3, 1e6, 1e9, 2.0**10, 2.0**20, 2.0**30)
_LATENCY = re.compile(r"\b(latenc\w+|response times?|delays?|duration\w*)\b", re.IGNORECASE)
# At 500 TPS, p95 stays below 10 ms.
_OF_TIME = re.compile(rf"{_LATENCY.pattern}|\bp\d\d|\bpercentile|\d\s?m?s\b", re.IGNORECASE)
# A latency that rises is worse; that of which one is better is not said by its direction.
_GOOD_OR_BAD = r"faster|quicker|slower|better|worse|improv\w+|degrad\w+|gains?|los(?:es?|t|ing)"
_ALSO_UP = r"scal\w+|climb\w*|doubl\w+|tripl\w+"
_RATE = re.compile(r"\b(throughput|tps|qps|ops|tpmc?|transactions per second|queries per second)\b", re.IGNORECASE)
_LOWEST_FIRST = re.compile(rf"\b(?:{DOWN}|lowest|least|fewest|slowest)\b", re.IGNORECASE)
_PERCENTILE = re.compile(
    r"\bp(\d{2,}(?:\.\d+)?)\b|\b([5-9]\d(?:\.\d+)?)(?:th\b|% ?(?:latency|percentile))", re.IGNORECASE
)
_DIGITS = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_LETTER_FOR_DIGIT = re.compile(r"\d[OlI]|[OlI]\d")
_AMOUNTS = [*UNITS, "CPU", "CPUs", "processor", "processors"]
_AMOUNT = re.compile(r"\d\s?([A-Za-z]+)")
_SIZE = re.compile(r"[kmgt]i?(?:b|bytes?)?", re.IGNORECASE)


def slips(published: Published, known: "ledger.Ledger | None") -> list[str]:
    """Return each as "file: key: what is odd", in the order of the files; nothing where all agree."""
    return [*_tables(published), *_facts(published), *_hosts(published), *_claims(published, known)]


def _tables(published: Published) -> Iterator[str]:
    run, own = {design.table for design in published.report.design}, published.report.units
    run |= {name for table in published.tables.values() if table.id in run for name in table.meta.restates}
    yield from _left_out([table for table in published.tables.values() if table.id in run])
    for table in published.tables.values():
        if run and table.id not in run:
            yield f"report.yaml: design: none runs table {table.id}"
        for name, field in table.fields.items():
            parts = name.split("_")
            whole = UNITS.get("/".join(parts[-2:]), "")
            # The least is no minute, total_ops no rate, and cost_per_hour no time; what is counted has any name.
            last = "" if parts[-1] in ("min", "ops") or "per" in parts else UNITS.get(parts[-1], "")
            ends = {unit for unit in (whole, last) if unit not in ("", "1") and (parts[1:] or is_rate(unit))}
            if field.role != "metric" or not field.unit:
                continue
            if field.unit not in {*UNITS.values(), *own} and UNITS.get(field.unit) != "1" and not is_rate(field.unit):
                other = "one such as ms, 1/s, MB/s or %, 1 for a count, or name it in report.yaml: units"
                there = UNITS.get(field.unit, other)
                yield f"datapackage.json: {table.id}.{name}: {field.unit} is no unit known here; write {there}"
            elif ends and field.unit in UNITS.values() and field.unit not in ends:
                yield f"datapackage.json: {table.id}.{name}: its unit is {field.unit}, its name ends in {parts[-1]}"
    used = {field.unit for table in published.tables.values() for field in table.fields.values()}
    yield from (f"report.yaml: units: no column is in {unit}" for unit in own if unit not in used)


def _left_out(tables: Sequence[PublishedTable]) -> Iterator[str]:
    """Yield the one level between those of some rows that all other rows have, as threads 32 of 16 and 64.

    Where more than one is lacking, the levels are others on purpose.
    """
    ladders: list[tuple[str, str, str, set[float]]] = []
    for table in tables:
        keys = table.meta.table_schema.primary_key
        for level in set(keys) & set(table.numeric):
            others = [key for key in keys if key != level]
            groups = table.frame.groupby(others, dropna=False)[level] if others else [((), table.frame[level])]
            for values, rows in groups:
                of = ", ".join(f"{key} {value}" for key, value in zip(others, values, strict=True))
                ladders.append((table.id, f"no row of {of}" if of else "no row", level, set(rows)))
    for id, none, level, found in ladders:
        all_others = [other for _, _, name, other in ladders if name == level and other is not found]
        # Of two alone, each with levels of its own, neither says what the other lacks.
        told = len(all_others) > 1 or any(found < other for other in all_others)
        lacking = set.intersection(*all_others) - found if told else set()
        between = [one for one in lacking if min(found) < one < max(found)]
        if len(between) == 1:
            yield f"{id}.csv: {none} has {level} {between[0]:g} between its others; all other rows have"


def _facts(published: Published) -> Iterator[str]:
    for fact in published.report.text_facts:
        for name, value in fact.values.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, int | float) and name not in fact.unchecked and not _printed(one, fact.printed):
                    yield f"report.yaml: text_facts.{fact.id}.values.{name}: {one:,} does not stand in what is printed"


def _printed(value: float, words: str) -> bool:
    """Return whether a text has a number, in any unit of time or size, or as a word."""
    words = re.sub(
        rf"\b({'|'.join(COUNTS)})\b", lambda m: str(COUNTS.index(m[0].lower()) + 1), words, flags=re.IGNORECASE
    )
    return any(math.isclose(abs(value), one, rel_tol=1e-9) for one in _numbers(words))


def _numbers(words: str) -> Iterator[float]:
    for style in ("point", "comma"):
        for figure in figures(words.replace("=", " "), style):
            ends = (figure.low, figure.high) if figure.kind == "range" else (abs(figure.value),)
            for one in ends:
                yield one
                if figure.unit == "%":
                    yield one / 100
                if seconds := SECONDS.get(figure.unit):
                    yield from (one * seconds / other for other in SECONDS.values())
    for digits in _DIGITS.findall(words):
        number = float(digits.replace(",", ""))
        yield from (part for size in _SIZES for part in (number * size, number / size))


def _hosts(published: Published) -> Iterator[str]:
    report, about = published.report, published.report.document
    systems = [system.name for system in report.systems]
    loads = {design.load for design in report.design}
    ran = {name for host in report.hosts for name in host.runs}
    for year in re.findall(r"\b2\d{3}\b", report.published):
        if int(year) > datetime.now(UTC).year:
            yield f"report.yaml: published: {year} is yet to come"
    yield from _units(report.hosts)
    for host in report.hosts:
        if not host.runs:
            yield f"report.yaml: hosts.{host.name or host.address}.runs: nothing; name what ran there"
        for name in host.runs:
            if name not in {*systems, *loads}:
                there = did_you_mean(name, systems) + f"there are: {', '.join([*systems, *loads])}"
                yield f"report.yaml: hosts.{host.name or host.address}.runs: {name} is none of the systems; {there}"
    for system in report.systems:
        printed, said = (set(re.findall(r"\d[\w.]*", one or "")) for one in (about.version, system.version))
        others = [one for one in said if not any(_same_version(one, other) for other in printed)]
        if system.name == about.product and printed and others:
            yield f"report.yaml: systems.{system.name}.version: {system.version}; document.version: {about.version}"
        hosts = sum(host.count for host in report.hosts if system.name in host.runs)
        # A host can run several nodes: two TiKV on each of three hosts.
        as_many = hosts == system.nodes or (hosts > 1 and system.nodes % hosts == 0)
        if hosts and "nodes" in system.model_fields_set and not as_many:
            yield f"report.yaml: systems.{system.name}.nodes: {system.nodes}; hosts that run it: {hosts}"
        if _LETTER_FOR_DIGIT.search(system.version or ""):
            yield f"report.yaml: systems.{system.name}.version: {system.version} has a letter between its digits"
        if (near := typo_of(system.name, ran)) and near.lower() != system.name.lower().replace("-", "_"):
            yield f"report.yaml: systems: no host runs {system.name}; {near}?"


def _same_version(one: str, other: str) -> bool:
    """Return whether two versions are one, or one of them is said in fewer parts, as 8.0 of 8.0.34."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _units(hosts: Iterable[HostFact]) -> Iterator[str]:
    for host, key in product(hosts, ("cpu", "memory", "disk")):
        for unit in _AMOUNT.findall(getattr(host, key) or ""):
            known = _SIZE.fullmatch(unit) or unit in _AMOUNTS or unit.lower() in _AMOUNTS
            close = difflib.get_close_matches(unit, _AMOUNTS, n=1, cutoff=0.8)
            close = close or [one for one in _AMOUNTS if sorted(one) == sorted(unit)]
            if close and not known:
                yield f"report.yaml: hosts.{host.name or host.address}.{key}: {unit} is no unit; {close[0]}?"


def _claims(published: Published, known: "ledger.Ledger | None") -> Iterator[str]:
    places = {table.where: id for id, table in published.tables.items()}
    for fact in published.report.text_facts:
        if fact.where not in places and (near := _near(fact.where, places)):
            yield f"report.yaml: text_facts.{fact.id}.where: “{fact.where}”; {near}?"
    for claim in known.claims if known else []:
        terms = [term for _, term in claim.speaks_of(published)]
        tables = {*claim.in_tables(), *(term.table for term in terms)}
        other = places.get(claim.where)
        if other and tables and other not in tables:
            about = ", ".join(sorted(tables))
            yield f"claims.yaml: {claim.id}.where: that is table {other}, the claim is about {about}"
        elif other is None and (near := _near(claim.where, places)):
            yield f"claims.yaml: {claim.id}.where: “{claim.where}” is no table's section; {near}?"
        odd = [*_statement(claim, terms, published), *_another_table(claim.statement, tables, published)]
        yield from (f"claims.yaml: {claim.id}.statement: {one}" for one in odd)


def _another_table(said: str, tables: set[str], published: Published) -> Iterator[str]:
    """Yield the table that a statement names, as "read-only" names oltp_read_only, where it is none of the claim's."""
    words = {id: re.sub(r"[\W_]+", " ", id.lower().removeprefix("oltp_")) for id in published.tables}
    plain = re.sub(r"[\W_]+", " ", said.lower())
    named = [id for id, own in words.items() if not re.search(r"\d", own) and re.search(rf"\b{own}\b", plain)]
    if named and tables and not any(words[one] in words[mine] for one in named for mine in tables):
        yield f"it names {', '.join(named)}, the claim is about {', '.join(sorted(tables))}"


def _near(where: str, places: Iterable[str]) -> str:
    """The section that differs from this one by a slip in one word, in letters: 8k beside 4k are two sections."""
    for place in places:
        if re.findall(r"\d+", where) != re.findall(r"\d+", place):
            continue
        pairs = [pair for pair in zip(where.split(), place.split(), strict=False) if pair[0] != pair[1]]
        if len(pairs) == 1 and len(where.split()) == len(place.split()) and typo_of(pairs[0][0], [pairs[0][1]]):
            return place
    return ""


def _statement(claim: Hypothesis, terms: Sequence[Term], published: Published) -> Iterator[str]:
    said = claim.statement
    held = list(_held(claim, terms, published))
    systems = " ".join(f"{one.name} {one.version}" for one in published.report.systems)
    for figure in figures(said):
        if not (_stands(figure, held) or figure.printed in systems or figure.printed in claim.where):
            yield f"{figure.printed} is none of the claim's levels, bounds and published figures"
    units = {published.tables[t.table].fields[name].unit for t in terms for name in _columns(t, published)}
    moves = said if all(map(is_rate, units)) else re.sub(rf"\b(?:{_GOOD_OR_BAD})\b", "", said, flags=re.IGNORECASE)
    rising, falling = (bool(re.search(rf"\b(?:{way})\b", moves, re.IGNORECASE)) for way in (f"{UP}|{_ALSO_UP}", DOWN))
    against = {"increases": falling and not rising, "decreases": rising and not falling}
    if against.get(claim.hypothesis):
        yield f"its words go the other way than the hypothesis, {claim.hypothesis}"
    if units and _LATENCY.search(said) and not _RATE.search(said) and all(map(is_rate, units)):
        yield "it speaks of a time, the claim's metric is a rate"
    if units and _RATE.search(said) and not _OF_TIME.search(said) and all(map(is_time, units)):
        yield "it speaks of a rate, the claim's metric is a time"
    metrics = {digits for t in terms for digits in re.findall(r"p(\d{2,})", t.metric)}
    for match in _PERCENTILE.finditer(said) if metrics else ():
        if (match[1] or match[2]).replace(".", "") not in metrics:
            yield f"{match[0]} is not the claim's metric, {terms[0].metric}"
    yield from _ordered(claim, said)


def _columns(term: Term, published: Published) -> list[str]:
    table = published.tables[term.table]
    return [name for name in names(term.metric) if name in table.metrics]


def _ordered(claim: Hypothesis, said: str) -> Iterator[str]:
    called = [one.called or "" for one in getattr(claim, "figures", ())]
    places = [said.lower().find(name.lower()) if name else -1 for name in called]
    if len(places) > 1 and min(places) >= 0 and places != sorted(places) and not _LOWEST_FIRST.search(said):
        yield f"it names its figures in another order than the claim, {', '.join(called)}"


def _held(claim: Hypothesis, terms: Sequence[Term], published: Published) -> Iterator[float]:
    """The numbers that a statement can speak of: the claim's own, its levels, its figures and what it computes."""
    yield from _leaves(claim.model_dump(exclude={"statement", "where", "id", "own_table", "not_run"}))
    for term in terms:
        yield from _leaves(term.rows)
        table = published.tables[term.table]
        yield from _leaves(table.fixed)
        for row in table.matching({k: v for k, v in term.rows.items() if k in [*table.levels, *table.fixed]}):
            yield from _leaves([table.cells[row][name] for name in _columns(term, published)])
        yield from (float(digits) for digits in re.findall(r"\d+", f"{term.metric} {term.table}"))
    about = {term.table for term in terms}
    for fact in published.report.text_facts:
        if about & set(fact.tables) or not fact.tables:
            levels = {level for id in about for level in published.tables[id].levels}
            yield from _leaves([value for name, value in fact.values.items() if name not in levels])
    for contrast in ledger.as_printed(claim, published):
        shown = contrast.shown(contrast.mean)
        yield from (shown, 1 / shown if shown else shown) if contrast.unit == "times" else (shown,)


def _leaves(found: Any) -> Iterator[float]:
    if isinstance(found, dict):
        for each in found.values():
            yield from _leaves(each)
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _leaves(each)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield float(found)


def _stands(figure: Figure, held: Sequence[float]) -> bool:
    """Return whether one of these would be printed so: as it is, as a change in percent, in another unit, rounded."""
    if NO_FIGURE.search(figure.printed):
        return True
    low, high = sorted((abs(figure.low), abs(figure.high)))
    spans = [(low, low), (high, high)] if figure.kind == "range" else [(low, high)]
    # From 8 to 64 threads are levels; from 12k to 34k/s are rounded.
    exact = figure.kind == "number" or (figure.kind == "range" and figure.unit in ("", "1"))
    room = 0.0 if exact else 0.05
    as_printed = [one for x in held for one in (x, 100 * x, 100 * abs(x - 1), *(x / size for size in _SIZES[1:4]))]
    if figure.unit in SECONDS:
        as_printed += [x * a / b for x in held for a in SECONDS.values() for b in SECONDS.values()]
    return all(any(begin - room * high <= abs(one) <= end + room * high for one in as_printed) for begin, end in spans)
