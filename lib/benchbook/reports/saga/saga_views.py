"""What only the DTM report's notebook shows.

Functions of what was recorded; each returns a table or a figure for one cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure
from seaborn import FacetGrid

from benchbook import plots
from benchbook.analysis import formatting
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.samples import series_of, spread
from benchbook.analysis.trials import Measured, over_repetitions
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.plots import output
from benchbook.plots.forest import Scale, forest
from benchbook.plots.style import looks
from benchbook.reports.saga import saga_tables
from benchbook.reports.saga.ladder import KILLED, SYSBENCH
from benchbook.reports.saga.saga_tables import (
    BASE,
    CEILING,
    FAILING,
    LADDER,
    MODES,
    TYPES,
    Rung,
    at_knee,
    by_step,
    cells,
    of_table,
)

MEASURES = {"global_tps": "Global-TPS", "db_tps": "DB-TPS", "ops": "OPS"}


def ladder(report: Recorded) -> pd.DataFrame:
    """Published and measured Global-TPS, DB-TPS and OPS of every measured rung at its knee, relative to BASE.

    [who (of several systems each by its name), rung, measure, value, low, high (95% over repetitions)]; empty where
    BASE was not measured.
    """
    both = report.beside()
    both = both[both.table.isin([SYSBENCH, LADDER]) & both.metric.isin([*MEASURES])]
    rungs = [
        Rung(str(mode), int(sql)).label if table == LADDER else "sysbench alone"
        for table, mode, sql in zip(both.table, both["mode"], both.sql_per_branch, strict=True)
    ]
    both = both.assign(rung=rungs, measure=both.metric.map(MEASURES).astype(str))
    both = both[both.rung != CEILING.label]
    here = both.dropna(subset="measured")
    who = here.system.astype(str) if here.system.nunique() > 1 else "measured"
    printed = both[both.rung.isin(here.rung)].drop_duplicates(["rung", "measure"])
    printed = printed.assign(who="published", value=printed.published, low=np.nan, high=np.nan)
    frame = pd.concat([printed, here.assign(who=who, value=here.measured)]).dropna(subset="value")
    return relative(frame[["who", "rung", "measure", "value", "low", "high"]].reset_index(drop=True), base=BASE.label)


def relative(frame: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Values and bounds divided by the same measure's value at rung `base`; measures without that rung are left out.

    `frame`: [who, rung, measure, value, low, high].
    """
    bases = frame[frame.rung == base].set_index(["who", "measure"]).value
    # Of no row at all, a list would choose columns.
    kept = frame[np.array([key in bases.index for key in zip(frame.who, frame.measure, strict=True)], dtype=bool)]
    by = np.array([bases[key] for key in zip(kept.who, kept.measure, strict=True)], dtype=float)
    numbers = {name: kept[name].astype(float) / by for name in ("value", "low", "high")}
    return kept.assign(**numbers)


def drawn(frame: pd.DataFrame) -> Figure:
    """The ladder with what it shows in words; `frame` as `relative` returns it."""
    if frame.empty:
        return plots.nothing(f"Nothing is relative to {BASE.label}: it was not measured.")
    return plots.described(
        in_rungs(frame, list(dict.fromkeys(frame.measure)), base=BASE.label),
        in_words(frame),
        f"Each measure relative to its value at {BASE.label}, each rung at its knee. "
        "Squares: published. Other marks: measured, mean with 95% interval over repetitions.",
    )


def in_rungs(frame: pd.DataFrame, measures: Sequence[str], *, base: str) -> FacetGrid:
    """One panel per measure below each other, rungs from top to bottom; `frame` as `relative` returns it."""
    kept = frame[frame.measure.isin(measures)].assign(panel=lambda f: f.measure, row=lambda f: f.rung)
    # A rate below zero is none: the interval ends at the axis.
    kept = kept.assign(low=kept.low.clip(lower=0))
    ranges = {m: (0.0, 1.05 * float(np.nanmax(part[["value", "high"]]))) for m, part in kept.groupby("measure")}
    scales = {str(m): Scale(f"relative to {base}", limits, log=False, title=str(m)) for m, limits in ranges.items()}
    look = looks(kept.who)
    marks = {who: (look["palette"][who], look["markers"][who]) for who in look["hue_order"]}
    order = sorted(kept.index, key=lambda i: (measures.index(kept.measure[i]), kept.who[i] != "published"))
    return forest(kept.loc[order], scales, marks, width=6.4, row_height=0.28)


def in_words(frame: pd.DataFrame) -> str:
    """The figure's alt text: every value."""
    parts = [
        f"{measure}, {rung}: " + ", ".join(f"{who} {value:.2f}" for who, value in zip(p.who, p.value, strict=True))
        for (measure, rung), p in frame.groupby(["measure", "rung"], sort=False)
    ]
    return "Relative to the rung without DTM. " + "; ".join(parts) + "."


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
    systems = grouped(at_knee(of_table(report.records)), lambda record: record.system)
    if not systems:
        return show.paragraph("No saga has been recorded.")
    several = len(systems) > 1
    return show.stack([_trial_series(report, mine, metric, source, label, several) for mine in systems.values()])


def _trial_series(report: Recorded, records: list[Record], metric: str, source: str, label: str, several: bool) -> HTML:
    mine = [record for part in by_step(records).values() for record in part]
    mine.sort(key=lambda record: MODES.index(str(record.levels["mode"])))
    names = ["mode", "sql_per_branch"]
    frame = series_of(mine, report.campaign.series, report.environment, metric, source, names)
    drawn = plots.time_series(frame, row="mode", column="sql_per_branch", label=label)
    of, name = (f"{mine[0].system}: ", f"{mine[0].system}-") if several else ("", "")
    alt = f"{of}{label} over time in every trial: {spread(frame, names)}"
    figure = plots.described(drawn, alt, f"{of}{label}, one line per repetition.")
    output.save(figure, report.figure_file(f"{name}{metric}-series"))
    return output.picture(figure)


# -- whether nothing was lost -----------------------------------------------------------------------------------------


def invariants(report: Recorded) -> HTML:
    """Per rung: trials, global transactions, and how many trials each invariant holds in."""
    parts = []
    for table in (LADDER, FAILING, KILLED):
        for called, _, mine in cells(of_table(report.records, table)):
            parts.append(_invariant_row(called, table, mine))
    return (
        show.table(parts, "Books after every trial; retried: DB transactions and sagas run again after a deadlock")
        if parts
        else show.paragraph("No saga has been recorded.")
    )


def _invariant_row(called: dict[str, object], table: str, records: Sequence[Record]) -> dict[str, object]:
    ends = [r.proof["global"] for r in records]
    row = {
        **called,
        "rung": f"{called['rung']}{', DTM killed' if table == KILLED else ''}",
        "trials": len(records),
        "sagas": formatting.number(sum(e["started"] for e in ends)),
        "rolled back": formatting.number(sum(e["rolled_back"] for e in ends)),
    }
    for name in records[0].proof["invariants"]:
        found = [r.proof["invariants"][name] for r in records]
        wrong = [f["found"] for f in found if not f["holds"]]
        row[name] = f"in {len(found) - len(wrong)} of {len(found)}" + (f" ({wrong[0]})" if wrong else "")
    # Older records have another count: of the whole block so far.
    retried = [r.proof["retried"] for r in records if "retried" in r.proof]
    row["retried"] = formatting.number(sum(retried) if len(retried) == len(records) else None)
    return row


def failing(report: Recorded) -> HTML:
    """Failing TransIn branches: share rolled back, latency of a commit and of a compensation, state of the books."""
    rows = []
    for called, _, mine in cells(of_table(report.records, FAILING)):
        branches = [r.proof["branches"] for r in mine]
        rows.append(
            {
                **called,
                "rolled back": _percent(over_repetitions(mine, "rolled_back_share")),
                "Global-TPS": formatting.with_interval(over_repetitions(mine, "global_tps")),
                "committed p50 / p95 (ms)": _both(mine, ""),
                "rolled back p50 / p95 (ms)": _both(mine, "rolled_back_"),
                "compensations": formatting.number(_events(branches, "executed")),
                "held back": formatting.number(_events(branches, "skipped")),
                "sum of balances": ", ".join(dict.fromkeys(map(_sum, mine))).replace(", off by", ","),
            }
        )
    return (
        show.table(rows, "A share of TransIn branches fails; held back: compensations that the barrier let do nothing")
        if rows
        else show.paragraph("Not in this run (fail = 0).")
    )


def _sum(record: Record) -> str:
    return str(record.proof["invariants"]["sum of balances unchanged"]["found"])


def _events(branches: Iterable[dict[str, dict[str, int]]], event: str) -> int:
    return sum(b.get(op, {}).get(event, 0) for b in branches for op in ("out.compensate", "in.compensate"))


def _both(records: Sequence[Record], prefix: str) -> str:
    """Mean p50 and p95, which stay on one line."""
    found = [over_repetitions(records, f"{prefix}{p}_ms") for p in ("p50", "p95")]
    return "\u00a0/\u00a0".join(formatting.number(m.value if m else None) for m in found)


def _percent(m: Measured | None) -> str:
    if m is None:
        return "–"
    return (
        f"{m.value:.1%}" if m.low is None or m.high is None else f"{m.value:.1%} [{max(0.0, m.low):.1%}, {m.high:.1%}]"
    )


def killed(report: Recorded) -> HTML:
    """DTM killed in mid-load and started again: what was under way, and when all of it had ended."""
    mine = of_table(report.records, KILLED)
    if not mine:
        return show.paragraph(
            "Not in this run; -p kill_dtm=true adds it. The project's tests do it on the real server each time."
        )
    rows = [
        {
            **called,
            "repetition": r.repetition,
            "under way when killed": r.proof["killed"]["under_way"],
            "DTM away (s)": formatting.number(r.summary["down_s"].value),
            "until all had ended (s)": formatting.number(r.summary["recovery_s"].value),
            "requests without an answer": r.proof["global"]["failed"],
            **{name: "yes" if about["holds"] else about["found"] for name, about in r.proof["invariants"].items()},
        }
        for called, _, records in cells(mine)
        for r in records
    ]
    return show.table(rows, "DTM killed (SIGKILL) under load and started again")
