"""All recorded campaigns as one set of tables: as frames, or by SQL in DuckDB.

Trials come from the trials.parquet of each campaign, samples straight from the series.parquet of each trial. Nothing
else is kept: a campaign that is copied here, changed or removed needs nobody to be told.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import duckdb
import pandas as pd
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.analysis import results, samples
from benchbook.analysis.schema import (
    RUN_ENVIRONMENTS,
    RUN_HISTOGRAMS,
    RUN_SECONDS,
    RUN_TRIALS,
    RUN_VERDICTS,
    RUNS,
    typed,
)
from benchbook.analysis.trials import trials_of
from benchbook.campaign import store
from benchbook.campaign.record import RecordBroken
from benchbook.campaign.store import Campaign
from benchbook.compare import environment_facts
from benchbook.errors import BadInput
from benchbook.user_input.choices import one_of

TABLES = {"runs": RUNS, "trials": RUN_TRIALS, "seconds": RUN_SECONDS, "histograms": RUN_HISTOGRAMS,
          "verdicts": RUN_VERDICTS, "environments": RUN_ENVIRONMENTS}  # fmt: skip

# A sample stands at the end of its second; `loads` says when each load ran (`Record.load_window`).
_SECONDS = """
create view seconds as
select report, campaign, trial, t, t - began as since_s, host, source, metric, value, unit,
       t between since and until as in_load
from read_parquet({files}, filename = true) join loads using (filename)
"""


class Catalogue:
    """The campaigns of a report, or of all ("*"). Each call reads what is on disk now.

    A campaign that cannot be read is named on the standard error and left out.
    """

    def __init__(self, report: str = "*") -> None:
        self.report = report

    def __repr__(self) -> str:
        return f"<Catalogue of {len(store.recorded(self.report))} campaigns: {', '.join(TABLES)}>"

    def runs(self) -> pd.DataFrame:
        """Return a row per campaign that has a record; see `schema.RUNS`."""
        return typed(pd.DataFrame([_run(campaign) for campaign in self._campaigns()]), RUNS)

    def trials(self, *, disturbed: bool = False) -> pd.DataFrame:
        """Return a row per trial that counts, of all campaigns; with `disturbed` also the others."""
        parts = list(self._each(lambda campaign: trials_of(campaign, disturbed=disturbed)))
        levels = list(dict.fromkeys(name for part in parts for name in part.attrs["levels"]))
        units: dict[str, list[str]] = {}
        for part in parts:
            for metric in part.attrs["metrics"]:
                units.setdefault(metric, []).append(part.attrs["units"][metric])
        # A unit stands once; several where reports differ. What is a level anywhere is one everywhere.
        told = {m: " or ".join(dict.fromkeys(known)) for m, known in units.items() if m not in levels}
        found = typed(_joined(parts), RUN_TRIALS, levels=levels, units=told)
        found.attrs["metrics"] = list(told)
        return found

    def seconds(self, *metrics: str, source: str = "", load_only: bool = True) -> pd.DataFrame:
        """Return a row per sample. Name the metrics that you need: all are millions of rows.

        Raise BadInput for a metric or a source that no campaign has, and lists those that there are.
        """
        wanted = {"metric": list(metrics), "source": [source] if source else []}
        named = {column: names for column, names in wanted.items() if names}
        conditions = [f"{column} in ({', '.join('?' * len(names))})" for column, names in named.items()]
        where = " and ".join([*conditions, *(["in_load"] if load_only else [])]) or "true"
        with _asking("seconds") as db:
            self._attach(db, "seconds")
            for column, names in named.items():
                known = sorted(db.execute(f"select distinct {column} from seconds").df()[column])
                for name in names if known else ():
                    one_of(name, known, column)
            given = [name for names in named.values() for name in names]
            found = _answer(db.execute(f"select * from seconds where {where}", given))
        return typed(found, RUN_SECONDS)

    def histograms(self) -> pd.DataFrame:
        """Return a row per bucket of every latency histogram."""
        return self._frame("histograms")

    def verdicts(self) -> pd.DataFrame:
        """Return a row per claim, system and campaign, as its results.json says it."""
        return self._frame("verdicts")

    def environments(self) -> pd.DataFrame:
        """Return a row per recorded fact and campaign."""
        return self._frame("environments")

    def sql(self, query: str) -> pd.DataFrame:
        """Return what DuckDB answers. Tables: runs, trials, seconds, histograms, verdicts, environments.

        The columns `table` and `order` are words of SQL: write "table". Raise BadInput with what DuckDB says of a
        query.
        """
        with _asking(query) as db:
            # One table too many costs time and nothing else.
            for name in sorted(set(re.findall(r"\w+", query.lower())) & set(TABLES)):
                self._attach(db, name)
            return _answer(db.execute(query))

    def _campaigns(self) -> Iterator[Campaign]:
        return store.readable(store.recorded(self.report))

    def _each(self, make: Callable[[Campaign], pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for campaign in self._campaigns():
            try:
                yield make(campaign)
            except BadInput as problem:
                store.leave_out(str(problem))

    def _frame(self, name: str) -> pd.DataFrame:
        makers: dict[str, Callable[[Campaign], pd.DataFrame]] = {
            "histograms": samples.histograms,
            "verdicts": _verdicts,
            "environments": _environments,
        }

        def make(campaign: Campaign) -> pd.DataFrame:
            return makers[name](campaign).assign(report=campaign.report, campaign=campaign.id)

        return typed(_joined(self._each(make)), TABLES[name])

    def _attach(self, db: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make a table known to DuckDB by its name."""
        if name == "seconds":
            loads = _loads(store.readable(store.recorded(self.report)))
            if len(loads):
                db.register("loads", loads)
                files = ", ".join(f"'{path.replace(chr(39), chr(39) * 2)}'" for path in loads.filename)
                db.execute(_SECONDS.format(files=f"[{files}]"))
                return
            frame = typed(pd.DataFrame(), RUN_SECONDS)
        else:
            frame = getattr(self, name)()
        db.register(name, _plain(frame))


def _run(campaign: Campaign) -> dict[str, object]:
    done = len(campaign.done())
    return {
        "campaign": campaign.id,
        "report": campaign.report,
        "made": pd.to_datetime(campaign.plan.made, utc=True) if campaign.plan.made else pd.NaT,
        "profile": campaign.profile,
        "inventory": campaign.inventory,
        "systems": "; ".join(about.called for about in campaign.environment().systems.values()),
        "planned": len(campaign.trials),
        "done": done,
        "finished": done == len(campaign.trials),
        "folder": str(campaign.folder),
    }


def _verdicts(campaign: Campaign) -> pd.DataFrame:
    """Return those of results.json: judging anew takes seconds a campaign, and its page says the same."""
    path = campaign.folder / paths.RESULTS
    return results.claims_frame(results.read(path).claims if path.is_file() else [])


def _environments(campaign: Campaign) -> pd.DataFrame:
    facts = sorted(environment_facts.of_campaign(campaign).items())
    rows = [{"fact": name, "place": where, "text": value} for (name, where), value in facts]
    return pd.DataFrame(rows, columns=["fact", "place", "text"], dtype=str)


def _loads(campaigns: Iterable[Campaign]) -> pd.DataFrame:
    """[filename, report, campaign, trial, began, since, until]: the trials that were sampled, and when their load ran.

    Times are seconds since the epoch.
    """
    parts = []
    for campaign in campaigns:
        try:
            trials = trials_of(campaign)
        except RecordBroken as problem:
            store.leave_out(str(problem))
            continue
        folder = campaign.folder / "trials"
        files = [str(folder / name / "series.parquet") for name in trials.trial]
        started = trials.started.astype("int64") / 1e9
        ended = started + trials.duration_s
        # A generator's own time is the better one; a program that has copied all may go on for a while.
        own = trials.get("total_time_s", pd.Series(float("nan"), index=trials.index))
        idle = trials.get("idle_s", pd.Series(0.0, index=trials.index)).fillna(0.0)
        began = (ended - idle - own).fillna(started)
        since = began.where(began > started, started)
        about = trials[["report", "campaign", "trial"]].astype(str)
        parts.append(about.assign(filename=files, began=began, since=since, until=ended + 1))
    found = _joined(parts)
    return found[[pq.read_metadata(name).num_rows > 0 for name in found.filename]] if len(found) else found


def _joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all parts, with text in place of categories: those of two campaigns differ."""
    plain = [_plain(part) for part in parts if len(part)]
    for part in plain:
        # Pandas compares what is in them, and warns.
        part.attrs = {}
    return pd.concat(plain, ignore_index=True) if plain else pd.DataFrame()


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    names = frame.columns[frame.dtypes.astype(str) == "category"]
    return frame.astype(dict.fromkeys(names, "str"))


@contextmanager
def _asking(query: str) -> Iterator[duckdb.DuckDBPyConnection]:
    # Variables of ours must not be taken for tables; times are those of the records.
    with duckdb.connect(config={"python_enable_replacements": False}) as db:
        db.execute("set timezone = 'UTC'")
        try:
            yield db
        except duckdb.Error as problem:
            fix = f"the tables are {', '.join(TABLES)}; `benchbook.tables()` has their columns"
            raise BadInput(str(problem).splitlines()[0], key="sql", value=query, fix=fix) from problem


def _answer(db: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    with warnings.catch_warnings():
        # DuckDB's own call of pandas: nobody here can mend it.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return db.df()
