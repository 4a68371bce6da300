"""What only the DTM report's notebook shows.

Functions of what was recorded; each returns a table or a figure for one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from benchbook import plots
from benchbook.analysis import formatting
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.trial_series import series_of, spread
from benchbook.analysis.trials import Measured, over_repetitions
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.plots import output
from benchbook.reports.saga import ladder_plot, saga_tables
from benchbook.reports.saga.ladder import SYSBENCH
from benchbook.reports.saga.rung import BASE, CEILING, MODES, Rung
from benchbook.reports.saga.saga_tables import LADDER, TYPES, at_knee, by_step, cells, heading, knees, named, of_table

MEASURES = {"global_tps": "Global-TPS", "db_tps": "DB-TPS", "ops": "OPS"}


def ladder(report: Recorded) -> pd.DataFrame:
    """Published and measured Global-TPS, DB-TPS and OPS of every measured rung at its knee, relative to BASE.

    [who (of several systems each by its name), rung, measure, value, low, high (95% over repetitions)]; empty where
    BASE was not measured.
    """
    frame = pd.DataFrame([*_published_rungs(report), *_measured_rungs(report)])
    frame = frame[frame.rung.isin(frame[frame.who != "published"].rung)]
    return ladder_plot.relative(frame, base=BASE.label)


def by_clients(trials: pd.DataFrame) -> pd.DataFrame:
    """The ladder's trials (of `report.trials()`) with a column `rung`."""
    mine = trials[trials.table == LADDER]
    rungs = [Rung(str(mode), int(sql)).label for mode, sql in zip(mine["mode"], mine.sql_per_branch, strict=True)]
    systems = mine["system"].astype(str)
    return mine.assign(rung=systems + ": " + rungs if systems.nunique() > 1 else rungs)


def swept(trials: pd.DataFrame, metric: str) -> Figure:
    """`metric` against the number of clients, a panel per rung; of one number of clients there is nothing to see.

    `trials`: as `by_clients` returns them.
    """
    if trials.concurrency.nunique() < 2:
        return plots.nothing("One number of clients was measured: the table above has all there is.")
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
    ladder = at_knee(of_table(report.records))
    groups = [(mine, "sysbench alone") for mine in _by_system(of_table(report.records, SYSBENCH)).values()]
    groups += [(mine, step.rung.label) for step, mine in by_step(ladder).items() if step.rung != CEILING]
    several = len(_by_system(report.records)) > 1
    return [
        _row(mine[0].system if several else "measured", rung, metric, found)
        for mine, rung in groups
        for metric in MEASURES
        if (found := over_repetitions(mine, metric))
    ]


def _by_system(records: Iterable[Record]) -> dict[str, list[Record]]:
    return grouped(records, lambda record: record.system)


def _row(who: str, rung: str, metric: str, m: Measured) -> dict[str, Any]:
    return {"who": who, "rung": rung, "measure": MEASURES[metric], "value": m.value, "low": m.low, "high": m.high}


def beside(report: Recorded) -> HTML:
    """Published and measured Global-TPS, DB-TPS and OPS of every rung, the measured ones with intervals."""
    printed = {(row["rung"], row["measure"]): row["value"] for row in _published_rungs(report, named)}
    several = len(_by_system(report.records)) > 1
    groups: list[tuple[dict[str, object], list[Record]]] = [
        (heading(system, "sysbench alone", several=several), mine)
        for system, mine in _by_system(of_table(report.records, SYSBENCH)).items()
    ]
    groups += [(called, mine) for called, _, mine in cells(at_knee(of_table(report.records)))]
    rows = [_beside(called, mine, printed) for called, mine in groups]
    return show.table(rows, "Published, and here: mean [95% interval over n repetitions], per second")


def _beside(
    called: dict[str, object], records: Sequence[Record], printed: dict[tuple[str, str], float]
) -> dict[str, object]:
    row: dict[str, Any] = {**called, "n": len(records)}
    for metric, measure in MEASURES.items():
        row[measure] = formatting.number(printed.get((str(called["rung"]), measure)))
        row[f"{measure} here"] = formatting.with_interval(over_repetitions(records, metric))
    return row


def counters(report: Recorded) -> HTML:
    """Per rung, what the report multiplies and what the server counted; by how much they differ."""
    every = cells(at_knee(of_table(report.records)))
    rungs = [(called, step.rung, mine) for called, step, mine in every if step.rung != CEILING]
    each = [{**called, **_per_global(report, rung, mine)} for called, rung, mine in rungs]
    caption = "One global transaction: DB transactions (tx) and SQL, by the report and counted; other: BEGIN, COMMIT"
    rates = [
        show.table(
            [{**called, **row} for called, rung, mine in rungs if (row := _rates(report, rung, mine, metric))],
            f"{MEASURES[metric]}: measured Global-TPS times the report's integer, and what the server counted",
        )
        for metric in ("db_tps", "ops")
    ]
    return show.stack([show.table(each, caption), *rates])


def _per_global(report: Recorded, rung: Rung, records: Sequence[Record]) -> dict[str, object]:
    said = saga_tables.arithmetic(report.published, rung) or {}
    return {
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


def _knee_rows(records: list[Record]) -> list[dict[str, object]]:
    chosen = knees(records)
    metrics = {"Global-TPS": "global_tps", "p50 (ms)": "p50_ms", "p95 (ms)": "p95_ms", "p99 (ms)": "p99_ms"}
    return [
        {
            **called,
            "clients": chosen[step],
            **{title: formatting.with_interval(over_repetitions(mine, metric)) for title, metric in metrics.items()},
        }
        for called, step, mine in cells(at_knee(records))
    ]


def ceiling(report: Recorded) -> HTML:
    """How far each rung stays below what client and business service deliver with nothing to do."""
    ladder = of_table(report.records)
    groups = grouped(
        (r for r in ladder if Rung.of(r.levels) == CEILING), lambda r: (r.system, int(r.levels["concurrency"]))
    )
    best = {at: over_repetitions(mine, "global_tps") for at, mine in groups.items()}
    rows = []
    for called, step, mine in cells(at_knee(ladder)):
        top = best.get((step.system, int(mine[0].levels["concurrency"])))
        here = over_repetitions(mine, "global_tps")
        if step.rung != CEILING and top and here:
            rows.append(
                {
                    **called,
                    "Global-TPS": formatting.number(here.value),
                    "ceiling": formatting.with_interval(top),
                    "rung / ceiling": f"{here.value / top.value:.0%}",
                }
            )
    if not rows:
        return show.paragraph("The ceiling was not measured in this run.")
    return show.table(rows, "The service's ceiling (no DTM, empty branches, same clients) against every rung")


def trial_series(report: Recorded, metric: str, *, source: str, label: str) -> HTML:
    """The series of every trial of the ladder at its knee, for each system: a panel per rung, a line per repetition."""
    systems = _by_system(at_knee(of_table(report.records)))
    if not systems:
        return show.paragraph("No saga has been recorded.")
    several = len(systems) > 1
    return show.stack([_trial_series(report, mine, metric, source, label, several) for mine in systems.values()])


def _trial_series(report: Recorded, records: list[Record], metric: str, source: str, label: str, several: bool) -> HTML:
    mine = [record for part in by_step(records).values() for record in part]
    mine.sort(key=lambda record: MODES.index(str(record.levels["mode"])))
    names = ["mode", "sql_per_branch"]
    frame = series_of(mine, report.campaign.coded_series, report.environment, metric, source, names)
    drawn = plots.time_series(frame, row="mode", column="sql_per_branch", label=label)
    of, name = (f"{mine[0].system}: ", f"{mine[0].system}-") if several else ("", "")
    alt = f"{of}{label} over time in every trial: {spread(frame, names)}"
    figure = plots.described(drawn, alt, f"{of}{label}, one line per repetition.")
    output.save(figure, report.figure_file(f"{name}{metric}-series"))
    return output.picture(figure)
