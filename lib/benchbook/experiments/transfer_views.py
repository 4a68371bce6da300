"""What only the DDT report's notebook shows. Functions of a Book; each returns a table or a figure for one cell."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import HTML

from benchbook import figures, outcome, show
from benchbook.book import Book
from benchbook.experiments import transfer_figures
from benchbook.experiments.transfer_engines import KNOBS
from benchbook.experiments.transfer_report import REPEATED, peer_table
from benchbook.measured import interval
from benchbook.record import Record
from benchbook.results import Measured, Row, Table

TITLES = {
    "qps": "documents/s while copying", "wall_qps": "documents/s, whole run", "cpu_percent": "CPU (%)",
    "cpu_s_per_million": "CPU s per million documents", "memory_mb": "memory, mean (MB)",
    "peak_memory_mb": "memory, highest (MB)",
}  # fmt: skip


def against_qps(book: Book, metric: str, *, label: str) -> HTML:
    """The report's figure: `metric` against documents/s, published and measured, a mark per combination."""
    frame = points(book, metric)
    figure = transfer_figures.scatter(frame, label)
    words = [f"{who}: {_ranks(part)}" for who, part in frame.groupby("who", sort=False)]
    alt = f"{label} against documents/s. " + "; ".join(words) + "."
    caption = f"{label} against documents/s, a mark per combination, means over repetitions. {'; '.join(words)}."
    return figures.show(figure, alt, caption, save_as=_file(book, f"{metric}-against-qps"))


def _ranks(part: pd.DataFrame) -> str:
    rho = part.qps.corr(part.value, method="spearman") if len(part) > 2 else float("nan")
    return f"{len(part)} combinations" + ("" if math.isnan(rho) else f", rank correlation {rho:.2f}")


def points(book: Book, metric: str) -> pd.DataFrame:
    """[who, cache, threads, qps, value] of every published combination: as published, and of each engine."""
    rows = []
    for name, table in book.published.tables.items():
        if name in REPEATED:
            continue
        for level in table.frame[table.levels].to_dict("records"):
            named = {str(name): value for name, value in level.items()}
            key = _key({**named, **table.fixed})
            printed = [table.value(m, **named) for m in ("qps", metric)]
            rows.append({"who": "published", **key, "qps": printed[0], "value": printed[1]})
    rows += [
        {"who": who, **key, "qps": _mean(mine, "qps").value, "value": _mean(mine, metric).value}
        for who, key, mine in _by_combination(book)
    ]
    return pd.DataFrame(rows)


def _key(levels: dict[str, Any]) -> dict[str, Any]:
    return {"cache": int(levels["cache_bucket_size"]),
            "threads": f"{levels['source_threads']}/{levels['target_threads']}"}  # fmt: skip


def _by_combination(book: Book) -> list[tuple[str, dict[str, Any], list[Record]]]:
    """(engine, combination, its records), in the order of the plan's tables."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for record in book.records:
        if record.system in KNOBS:
            key = _key(record.levels)
            groups.setdefault((record.system, key["cache"], key["threads"]), []).append(record)
    return [(who, {"cache": cache, "threads": threads}, mine) for (who, cache, threads), mine in sorted(groups.items())]


def _mean(records: list[Record], metric: str) -> Measured:
    return interval([record.summary[metric].value for record in records])


def heat_map(book: Book) -> HTML:
    """Documents/s over cache and threads, published and of each engine, with half the width of the interval."""
    published = points(book, "qps").query("who == 'published'").assign(low=None, high=None)
    mine = [
        {"who": who, **key, "value": m.value, "low": m.low, "high": m.high}
        for who, key, records in _by_combination(book) for m in [_mean(records, "qps")]
    ]  # fmt: skip
    frame = pd.concat([published[["who", "cache", "threads", "value", "low", "high"]], pd.DataFrame(mine)])
    figure = transfer_figures.heat_map(frame)
    alt = "Documents/s over cache and threads. " + "; ".join(
        f"{r['who']}, cache {r['cache']}, threads {r['threads']}: {show.number(r['value'])}"
        for r in frame.to_dict("records")
    )
    caption = "Documents/s over cache (buckets x batches in each) and threads (source/target); ± half the 95% interval."
    return figures.show(figure, alt, caption, save_as=_file(book, "heat-map"))


def beside(book: Book) -> HTML:
    """Each published table beside what was measured; the cache, which is a table's own, stands in its title alone."""
    return show.beside([_without_constants(book, part) for part in book.tables()], book.published)


def _without_constants(book: Book, part: Table) -> Table:
    constants = book.published.tables[part.id].fixed if part.id in book.published.tables else {}
    rows = [Row.model_validate({k: v for k, v in dict(row).items() if k not in constants}) for row in part.rows]
    return part.model_copy(update={"rows": rows})


def engines(book: Book) -> HTML:
    """All engines on the same servers, each over all its trials."""
    lines: dict[str, dict[str, str]] = {}
    for row in peer_table(book.records).rows:
        system = str((row.model_extra or {})["system"])
        line = lines.setdefault(system, {"engine": system})
        line[TITLES[row.metric]] = show.with_interval(row.measured)
    for system, line in lines.items():
        line["trials"] = str(sum(record.system == system for record in book.records))
    return show.table(lines.values(), "Engines on the same servers, mean [95% interval] over all their trials")


def bottlenecks(book: Book) -> HTML:
    """For each engine and cache: what limited how many trials, and the cores that each side used."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in book.records:
        groups.setdefault((record.system, str(record.levels.get("cache_bucket_size", "–"))), []).append(record)
    rows = [_limits(engine, cache, mine) for (engine, cache), mine in sorted(groups.items())]
    return show.table(rows, "What limited the transfer, and cores in use while copying (means)")


def _limits(engine: str, cache: str, records: list[Record]) -> dict[str, Any]:
    said = Counter(record.proof["bottleneck"]["who"] for record in records)
    cores = pd.DataFrame([record.proof["bottleneck"]["cores"] for record in records]).mean()
    return {
        "engine": engine, "cache": cache, "limited by (trials)": ", ".join(f"{w} ({n})" for w, n in said.most_common()),
        **{f"{label} (cores)": show.number(float(value)) for label, value in cores.items()},
        "for example": _example(records, said.most_common(1)[0][0]),
    }  # fmt: skip


def _example(records: list[Record], who: str) -> str:
    return next(str(r.proof["bottleneck"]["why"]) for r in records if r.proof["bottleneck"]["who"] == who)


def proofs(book: Book) -> HTML:
    """What was compared after the transfers, in one sentence."""
    agree = sum(bool(record.proof.get("agrees")) for record in book.records)
    documents = sum(int(record.proof["documents"]) for record in book.records)
    return show.paragraph(
        f"{agree} of {len(book.records)} recorded transfers proved: every collection of source and target read back, "
        f"{documents:,} documents in all, counts and order-independent hashes equal."
    )


def every_trial(book: Book, metric: str, *, source: str, label: str) -> HTML:
    """The series of every trial of the engines that have the report's knobs, a panel per combination."""
    return show.stack([
        _every_trial(book, engine, metric, source, label)
        for engine in dict.fromkeys(record.system for record in book.records) if engine in KNOBS
    ])  # fmt: skip


def _every_trial(book: Book, engine: str, metric: str, source: str, label: str) -> HTML:
    records = [record for record in book.records if record.system == engine]
    levels = ["cache_bucket_size", "source_threads", "target_threads"]
    read = book.campaign.series
    frame = outcome.trial_series(records, read, book.environment, metric, source, levels)
    name = f"{engine}-{metric.replace('.', '-')}-series"
    if frame.empty:
        return show.paragraph(f"{engine}: no samples of {metric}.")
    frame = frame.assign(cache="cache " + frame.cache_bucket_size.astype(str),
                         threads=frame.source_threads.astype(str) + "/" + frame.target_threads.astype(str))  # fmt: skip
    figure = transfer_figures.time_series(frame, label)
    alt = f"{label} over time in every trial of {engine}: {outcome.spread(frame, ['cache', 'threads'])}"
    return figures.show(figure, alt, f"{engine}: {label}, one line per repetition.", save_as=_file(book, name))


def _file(book: Book, name: str) -> Path:
    return book.campaign.folder / "figures" / f"{name}.png"
