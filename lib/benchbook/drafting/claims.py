"""Claims from sentences, as far as the printed figures bear them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from benchbook.documents.sentences import Sentence, split
from benchbook.documents.tables import Reading
from benchbook.drafting.column_names import slug
from benchbook.drafting.guesses import Guesses
from benchbook.drafting.tables import SERVER, LongTable

_RISES = re.compile(
    r"\b(?:increas|ris|grow|scal|improv)\w*\b[^.]{0,40}\b(?:threads?|concurrenc\w+|clients?|connections?)|随.{0,12}(?:线程|并发)",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:in all cases|always|consistently|uniformly|at every|across all|all workloads)\b|始终|均(?:优于|高于)",
    re.IGNORECASE,
)
_BY = re.compile(r"(\d+(?:\.\d+)?)\s?[%％]", re.IGNORECASE)


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
    if apart is None or len(names) != 2:
        return
    a, b = names
    against = {"rows": {apart.name: b}, "over": {"rows": {apart.name: a}}, "called": f"{metric}, {b} over {a}"}
    levels = [threads for threads, figure in arms[a].items() if figure and threads in arms[b]]
    changes = [(arms[b][threads] / arms[a][threads] - 1) * 100 for threads in levels]
    if not changes:
        return
    for sentence in said:
        if _ALWAYS.search(sentence.text) and (all(c > 0 for c in changes) or all(c < 0 for c in changes)):
            first, second = (b, a) if changes[0] > 0 else (a, b)
            high, low = (
                {"table": table.name, "metric": metric, "rows": {apart.name: arm}, "called": arm}
                for arm in (first, second)
            )
            of = {"figure": high, "above": [low], "factor": "threads"}
            claim = {"where": common["where"], "hypothesis": "dominates", **of}
            id = f"always-{sentence.line}"
            yield _claim(table, id, sentence.text, sentence, claim, guesses, 0.6)
        for printed in _BY.findall(sentence.text):
            room = 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 0.01
            one = [place for place, change in enumerate(changes) if abs(abs(change) - float(printed)) <= room]
            mean = abs(abs(sum(changes) / len(changes)) - float(printed)) <= room
            if len(one) == 1:
                at: dict[str, Any] = {"threads": int(levels[one[0]])}
                sides = {"rows": {apart.name: b, **at}, "over": {"rows": {apart.name: a, **at}}}
                claim, sure = {**common, "hypothesis": "ratio", **against, **sides}, 0.7
            elif mean:
                claim, sure = {**common, "hypothesis": "mean_ratio", **against, "factor": "threads"}, 0.6
            else:
                continue
            id = f"by-{slug(printed)}-{sentence.line}"
            yield _claim(table, id, sentence.text, sentence, {**claim, "tolerance": 0.1}, guesses, sure)


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
