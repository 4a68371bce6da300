"""Claims from sentences, as far as the printed figures bear them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from benchbook.documents.passages import Sentence, split
from benchbook.documents.tables import Reading
from benchbook.drafting.guesses import Guesses
from benchbook.drafting.tables import SERVER, LongTable, slug

_RISES = re.compile(
    r"\b(?:increas|ris|grow|scal|improv)\w*\b[^.]{0,40}\b(?:threads?|concurrenc\w+|clients?|connections?)|随.{0,12}(?:线程|并发)",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:in all cases|always|consistently|uniformly|at every|across all|all workloads)\b|始终|均(?:优于|高于)",
    re.IGNORECASE,
)
_BY = re.compile(r"(\d+(?:\.\d+)?)\s?[%％]")
_OF_OTHERS = re.compile(r"latenc|\bp\d\d|percentile|memory|\bcpu\b|延迟|内存", re.IGNORECASE)
_OF_RATES = re.compile(r"\b(?:tps|qps|throughput|faster|slower)\b|吞吐", re.IGNORECASE)
_LESS = re.compile(r"\b(?:slower|lower|less|fewer|worse|behind|worst|lowest)\b|低于|慢于", re.IGNORECASE)


def _is_first(text: str, first: str, second: str) -> bool:
    """Return whether a sentence puts `first` ahead of `second`, as far as the order of their names tells."""
    at, other = text.find(first), text.find(second)
    if at < 0 and other < 0:
        return True
    return (other < 0 or 0 <= at < other) != bool(_LESS.search(text))


def claims_of(read: Reading, table: LongTable, guesses: Guesses) -> Iterator[dict[str, Any]]:
    """Yield what a section says of its table, as far as the printed figures bear it out; else what the table shows."""
    said = [one for one in split(read) if one.section == table.source.section]
    metric = next(
        (column.name for column in table.columns if column.role == "metric" and column.unit in {"1/s", "1/min"}), ""
    )
    apart = next((column for column in table.levels if column.name in {"version", SERVER}), None)
    along = next((column for column in table.levels if column.name == "threads" and column.type == "integer"), None)
    if (
        not metric
        or along is None
        or len(table.levels) > 1 + bool(apart)
        or any(not row.get(metric) for row in table.rows)
        or len({row["threads"] for row in table.rows}) < 2
    ):
        return
    common = {"table": table.name, "metric": metric, "where": table.source.section or f"line {table.source.line}"}
    arms: dict[str, dict[str, float]] = {}
    for row in table.rows:
        arms.setdefault(row[apart.name] if apart else "", {})[row["threads"]] = float(row[metric])
    names = list(arms)
    for name, arm in arms.items():
        values = list(arm.values())
        if all(a < b for a, b in pairwise(values)) and values[-1] > 1.5 * values[0]:
            sentence = next((one for one in said if _RISES.search(one.text)), None)
            words = (
                sentence.text
                if sentence
                else f"Throughput rises with threads{f' in {name}' if name else ''} (its table shows it; no sentence says it)."
            )
            rows = {"rows": {apart.name: name}} if apart else {}
            claim = {**common, "hypothesis": "increases", **rows, "factor": "threads", "at_least": 1.2}
            id = f"rises-{slug(name) or 'with-threads'}"
            yield _claim(table, id, words, sentence, claim, guesses, 0.5 if sentence else 0.3)
    if apart is not None and len(names) == 2:
        for id, sure, sentence, claim in _between(said, table, metric, apart.name, arms):
            # A claim of several figures names the table of each.
            place = {"where": common["where"]} if "figure" in claim else common
            yield _claim(table, id, sentence.text, sentence, place | claim, guesses, sure)


def _between(
    said: list[Sentence], table: LongTable, metric: str, apart: str, arms: dict[str, dict[str, float]]
) -> Iterator[tuple[str, float, Sentence, dict[str, Any]]]:
    """Yield what sentences say of two products or versions: a name, how sure, the sentence and its test; each test once."""
    a, b = arms
    against = {"rows": {apart: b}, "over": {"rows": {apart: a}}, "called": f"{metric}, {b} over {a}", "tolerance": 0.1}
    levels = [threads for threads, figure in arms[a].items() if figure and threads in arms[b]]
    changes = [(arms[b][threads] / arms[a][threads] - 1) * 100 for threads in levels]
    if not changes:
        return
    first, second = (b, a) if changes[0] > 0 else (a, b)
    always = all(c > 0 for c in changes) or all(c < 0 for c in changes)
    tested: set[str] = set()
    for sentence in said:
        text = sentence.text
        if _OF_OTHERS.search(text) and not _OF_RATES.search(text):
            continue
        if always and _ALWAYS.search(text) and _is_first(text, first, second) and "always" not in tested:
            tested.add("always")
            high, low = (
                {"table": table.name, "metric": metric, "rows": {apart: arm}, "called": arm} for arm in (first, second)
            )
            of = {"hypothesis": "dominates", "figure": high, "above": [low], "factor": "threads"}
            yield f"always-{sentence.line}", 0.6, sentence, of
        shares = _BY.findall(text)
        named = {level for level in levels if re.search(rf"(?<![A-Za-z\d.,]){level}(?!\d|[.,]\d|\s?[%％])", text)}
        for printed in shares if len(named) <= len(shares) else []:
            room = 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 0.01
            one = [level for level, c in zip(levels, changes, strict=True) if abs(abs(c) - float(printed)) <= room]
            mean = not one and abs(abs(sum(changes) / len(changes)) - float(printed)) <= room
            id = f"by-{slug(printed)}-{sentence.line}"
            if len(one) == 1 and one[0] in (named or levels) and one[0] not in tested:
                tested.add(one[0])
                at: dict[str, Any] = {"threads": int(one[0])}
                sides = {"rows": {apart: b, **at}, "over": {"rows": {apart: a, **at}}}
                yield id, 0.7, sentence, {"hypothesis": "ratio", **against, **sides}
            elif mean and "mean" not in tested:
                tested.add("mean")
                yield id, 0.6, sentence, {"hypothesis": "mean_ratio", **against, "factor": "threads"}


def _claim(
    table: LongTable,
    id: str,
    words: str,
    sentence: Sentence | None,
    claim: dict[str, Any],
    guesses: Guesses,
    sure: float,
) -> dict[str, Any]:
    id = f"{slug(table.name)}-{id}".replace("_", "-")
    line = sentence.line if sentence else table.source.line
    guesses.add("claims.yaml", id, str(claim["hypothesis"]), line, sure, words[:300])
    return {"id": id, "statement": words[:400], **claim}
