"""What only the DTM report's notebook shows.

Functions of what was recorded; each returns a table or a figure for one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from IPython.display import HTML

from benchbook import plots
from benchbook.analysis import formatting, outcome
from benchbook.analysis.measured import over_repetitions
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.results import Measured
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.reports.saga import ladder_plot, saga_tables
from benchbook.reports.saga.ladder import SYSBENCH
from benchbook.reports.saga.rung import BASE, CEILING, MODES, Rung
from benchbook.reports.saga.saga_tables import LADDER, TYPES, at_knee, by_rung, knees, named, of_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {"global_tps": "Global-TPS", "db_tps": "DB-TPS", "ops": "OPS"}


def ladder(report: Recorded) -> pd.DataFrame:
    """Published and measured Global-TPS, DB-TPS and OPS of every measured rung at its knee, relative to BASE.

    [who, rung, measure, value, low, high (95% over repetitions)]; empty where BASE was not measured.
    """
    frame = pd.DataFrame([*_published_rungs(report), *_measured_rungs(report)])
    frame = frame[frame.rung.isin(frame[frame.who == "measured"].rung)]
    return ladder_plot.relative(frame, base=BASE.label)


def by_clients(trials: pd.DataFrame) -> pd.DataFrame:
    """The ladder's trials (of `report.trials()`) with a column `rung`."""
    mine = trials[trials.table == LADDER]
    rungs = [Rung(str(mode), int(sql)).label for mode, sql in zip(mine["mode"], mine.sql_per_branch, strict=True)]
    return mine.assign(rung=rungs)


def swept(trials: pd.DataFrame, metric: str) -> Figure:
    """`metric` against the number of clients, a panel per rung; of one number of clients there is nothing to see.

    `trials`: as `by_clients` returns them.
    """
    if trials.concurrency.nunique() < 2:
        return plots.no_figure.nothing("One number of clients was measured: the table above has all there is.")
    return plots.repetitions(trials, metric, x="concurrency", panel="rung")


def _published_rungs(report: Recorded, name: Callable[[Rung], str] = lambda rung: rung.label) -> list[dict[str, Any]]:
    table = report.published.table(LADDER)
    rows = [
        (name(Rung(mode, int(sql))), metric, table.value(metric, mode=mode, sql_per_branch=int(sql)))
        for mode, sql in zip(table.frame["mode"], table.frame["sql_per_branch"], strict=True)
        for metric in MEASURES
    ]
    alone = [
        ("sysbench alone", m, report.published.table(SYSBENCH).value(m, workload="oltp_write_only"))
        for m in ("db_tps", "ops")
    ]
    return [_row("published", who, metric, Measured(value=v, n=1)) for who, metric, v in [*alone, *rows] if v]


def _measured_rungs(report: Recorded) -> list[dict[str, Any]]:
    groups = {"sysbench alone": of_table(report.records, SYSBENCH)}
    groups |= {rung.label: mine for rung, mine in by_rung(at_knee(of_table(report.records))).items() if rung != CEILING}
    found = [(name, metric, over_repetitions(mine, metric)) for name, mine in groups.items() for metric in MEASURES]
    return [_row("measured", name, metric, m) for name, metric, m in found if m]


def _row(who: str, rung: str, metric: str, m: Measured) -> dict[str, Any]:
    return {"who": who, "rung": rung, "measure": MEASURES[metric], "value": m.value, "low": m.low, "high": m.high}


def beside(report: Recorded) -> HTML:
    """Published and measured Global-TPS, DB-TPS and OPS of every rung, the measured ones with intervals."""
    groups = {"sysbench alone": of_table(report.records, SYSBENCH)}
    groups |= {named(rung): mine for rung, mine in by_rung(at_knee(of_table(report.records))).items()}
    printed = {(row["rung"], row["measure"]): row["value"] for row in _published_rungs(report, named)}
    rows = [_beside(name, mine, printed) for name, mine in groups.items() if mine]
    return show.table(rows, "Published, and here: mean [95% interval over n repetitions], per second")


def _beside(name: str, records: Sequence[Record], printed: dict[tuple[str, str], float]) -> dict[str, object]:
    row: dict[str, Any] = {"rung": name, "n": len(records)}
    for metric, measure in MEASURES.items():
        row[measure] = formatting.number(printed.get((name, measure)))
        row[f"{measure} here"] = formatting.with_interval(over_repetitions(records, metric))
    return row


def counters(report: Recorded) -> HTML:
    """Per rung, what the report multiplies and what the server counted; by how much they differ."""
    rungs = {rung: mine for rung, mine in by_rung(at_knee(of_table(report.records))).items() if rung != CEILING}
    each = [_per_global(report, rung, mine) for rung, mine in rungs.items()]
    caption = "One global transaction: DB transactions (tx) and SQL, by the report and counted; other: BEGIN, COMMIT"
    rates = [
        show.table(
            [row for rung, mine in rungs.items() if (row := _rates(report, rung, mine, metric))],
            f"{MEASURES[metric]}: measured Global-TPS times the report's integer, and what the server counted",
        )
        for metric in ("db_tps", "ops")
    ]
    return show.stack([show.table(each, caption), *rates])


def _per_global(report: Recorded, rung: Rung, records: Sequence[Record]) -> dict[str, object]:
    said = saga_tables.arithmetic(report.published, rung) or {}
    return {
        "rung": named(rung),
        "tx, report": said.get("db_tps", "–"),
        "tx counted": _mean(records, "db_tx_per_global"),
        "SQL, report": said.get("ops", "–"),
        "SQL counted": _mean(records, "sql_per_global"),
        **{name: _mean(records, f"{name}_per_global") for name in TYPES if name != "deletes"},
        "other": _mean(records, "begins_and_commits_per_global"),
    }


def _rates(report: Recorded, rung: Rung, records: Sequence[Record], metric: str) -> dict[str, object] | None:
    said, tps, counted = (
        saga_tables.arithmetic(report.published, rung),
        over_repetitions(records, "global_tps"),
        over_repetitions(records, metric),
    )
    if said is None or tps is None or counted is None:
        return None
    calculated = tps.value * said[metric]
    return {
        "rung": named(rung),
        "Global-TPS": formatting.number(tps.value),
        "times": said[metric],
        "multiplied": formatting.number(calculated),
        "counted": formatting.number(counted.value),
        "differs by": f"{saga_tables.off(counted.value, calculated):+.1%}",
    }


def _mean(records: Sequence[Record], metric: str) -> str:
    found = over_repetitions(records, metric)
    return "–" if found is None else f"{found.value:.2f}"


def sweep(report: Recorded) -> HTML:
    """The knee at which each rung is compared, with its throughput and latency there."""
    records = of_table(report.records)
    table = show.table(_knee_rows(records), "Where each rung is compared: the fewest clients within 5% of its best")
    levels = sorted({int(r.levels["concurrency"]) for r in records})
    if len(levels) > 1:
        return table
    said = f"One number of clients was measured ({levels[0] if levels else 'none'}): no knee can be seen. "
    hint = "PROFILE=lab sweeps, and so does -p 'concurrency=[10, 20, 40]'."
    return show.stack([table, show.paragraph(said + hint)])


def _knee_rows(records: Sequence[Record]) -> list[dict[str, object]]:
    groups, chosen = by_rung(at_knee(records)), knees(records)
    metrics = {"Global-TPS": "global_tps", "p50 (ms)": "p50_ms", "p95 (ms)": "p95_ms", "p99 (ms)": "p99_ms"}
    return [
        {
            "rung": named(rung),
            "clients": chosen[rung],
            **{title: formatting.with_interval(over_repetitions(mine, metric)) for title, metric in metrics.items()},
        }
        for rung, mine in groups.items()
    ]


def _by_clients(records: Iterable[Record]) -> dict[int, list[Record]]:
    return dict(sorted(grouped(records, lambda record: int(record.levels["concurrency"])).items()))


def ceiling(report: Recorded) -> HTML:
    """How far each rung stays below what client and business service deliver with nothing to do."""
    best = {
        c: over_repetitions(mine, "global_tps")
        for c, mine in _by_clients(r for r in of_table(report.records) if Rung.of(r.levels) == CEILING).items()
    }
    rows = []
    for rung, mine in by_rung(at_knee(of_table(report.records))).items():
        top, here = best.get(int(mine[0].levels["concurrency"])), over_repetitions(mine, "global_tps")
        if rung != CEILING and top and here:
            rows.append(
                {
                    "rung": named(rung),
                    "Global-TPS": formatting.number(here.value),
                    "ceiling": formatting.with_interval(top),
                    "rung / ceiling": f"{here.value / top.value:.0%}",
                }
            )
    if not rows:
        return show.paragraph("The ceiling was not measured in this run.")
    return show.table(rows, "The service's ceiling (no DTM, empty branches, same clients) against every rung")


def every_trial(report: Recorded, metric: str, *, source: str, label: str) -> HTML:
    """The series of every trial of the ladder at its knee: a panel per rung, a line per repetition."""
    mine = [record for part in by_rung(at_knee(of_table(report.records))).values() for record in part]
    mine.sort(key=lambda record: MODES.index(str(record.levels["mode"])))
    if not mine:
        return show.paragraph("No saga has been recorded.")
    names = ["mode", "sql_per_branch"]
    frame = outcome.trial_series(mine, report.campaign.coded_series, report.environment, metric, source, names)
    figure = plots.timelines.time_series(frame, row="mode", column="sql_per_branch", label=label)
    alt = f"{label} over time in every trial: {outcome.spread(frame, names)}"
    return plots.picture.show(
        figure, alt, f"{label}, one line per repetition.", save_as=report.figure_file(f"{metric}-series")
    )
