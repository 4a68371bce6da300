"""What a notebook has of the memory: the frame of campaigns, and all that they measured, as frames or by SQL."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pandas as pd

from benchbook.errors import BadInput
from benchbook.frames import run_frame
from benchbook.frames.schema import typed
from benchbook.given.named import one_of
from benchbook.memory.kept_table import TABLES, KeptTable
from benchbook.memory.partitions import Partition, partitions

_RUNS = "runs"
# A report whose name is a number stays text.
_READ = (
    "select report, campaign, * exclude (report, campaign) from read_parquet([{files}], "
    "union_by_name = true, hive_partitioning = true, hive_types_autocast = false)"
)


def runs(report: str = "*") -> Runs:
    """The campaigns of a report, or of all, and what they measured; see `schema.RUNS`."""
    frame = run_frame.runs(report)
    found = Runs(frame)
    found.attrs, found._report = frame.attrs, report
    return found


class Runs(pd.DataFrame):
    """A row per campaign, see `schema.RUNS`; its methods read the memory, which is brought up to date by each call.

    What is selected from it is a plain frame.
    """

    _metadata = ["_report"]
    _report: str = "*"

    def trials(self) -> pd.DataFrame:
        """A row per trial that counts, of all campaigns; see `schema.RUN_TRIALS`."""
        return self._frame("trials")

    def seconds(self, *metrics: str, source: str = "", load_only: bool = True) -> pd.DataFrame:
        """A row per sample; see `schema.RUN_SECONDS`. Name the metrics that you need: all are millions of rows.

        Raises BadInput for a metric or a source that no campaign has, and lists those that there are.
        """
        wanted = {"metric": list(metrics), "source": [source] if source else []}
        for column, names in wanted.items():
            self._check_known(column, names)
        among = [f"{column} in ({', '.join('?' * len(names))})" for column, names in wanted.items() if names]
        where = " and ".join([*among, *(["in_load"] if load_only else [])]) or "true"
        given = [name for names in wanted.values() for name in names]
        return self._frame("seconds", f"select * from seconds where {where}", given)

    def _check_known(self, column: str, names: Sequence[str]) -> None:
        if names:
            known = self.sql(f"select distinct {column} from seconds order by all")[column].tolist()
            for name in names if known else ():
                one_of(name, known, column)

    def histograms(self) -> pd.DataFrame:
        """A row per bucket of every latency histogram; see `schema.RUN_HISTOGRAMS`."""
        return self._frame("histograms")

    def verdicts(self) -> pd.DataFrame:
        """A row per claim, system and campaign; see `schema.RUN_VERDICTS`."""
        return self._frame("verdicts")

    def environments(self) -> pd.DataFrame:
        """A row per recorded fact and campaign; see `schema.RUN_ENVIRONMENTS`."""
        return self._frame("environments")

    def sql(self, query: str) -> pd.DataFrame:
        """What DuckDB answers. Tables: runs, trials, seconds, histograms, verdicts, environments.

        Only the tables that a query names are brought up to date. The columns `table` and `order` are words of SQL:
        write "table". Raises BadInput with what DuckDB says of a query.
        """
        with _asking(query) as db:
            for name in sorted(_named(query)):
                self._attach(db, name)
            return _answer(db.execute(query))

    def _frame(self, name: str, query: str = "", given: Sequence[str] = ()) -> pd.DataFrame:
        table = TABLES[name]
        query = query or f"select * from {name}"
        with _asking(query) as db:
            parts = self._attach(db, name)
            found = _answer(db.execute(query, list(given)))
        levels = list(dict.fromkeys(level for part in parts for level in part.levels))
        units = {metric: unit for metric, unit in _units(parts).items() if metric not in levels}
        return typed(_without_gaps(found, table), table.schema, levels=levels, units=units)

    def _attach(self, db: duckdb.DuckDBPyConnection, name: str) -> list[Partition]:
        """Make a table known to DuckDB by its name; returns the files that it is read from."""
        if name == _RUNS:
            db.register(_RUNS, _texts(self))
            return []
        table = TABLES[name]
        parts = partitions(table, self._report)
        full = [str(part.path) for part in parts if part.rows]
        if not full:
            db.register(name, _texts(typed(pd.DataFrame(), table.schema)))
            return []
        files = ", ".join(f"'{path.replace(chr(39), chr(39) * 2)}'" for path in full)
        db.execute(f"create view {name} as {_READ.format(files=files)}")
        return parts


@contextmanager
def _asking(query: str) -> Iterator[duckdb.DuckDBPyConnection]:
    # Variables of ours must not be taken for tables; times are those of the records.
    with duckdb.connect(config={"python_enable_replacements": False}) as db:
        db.execute("set timezone = 'UTC'")
        try:
            yield db
        except duckdb.Error as problem:
            fix = f"the tables are {', '.join([_RUNS, *TABLES])}; docs/frames.md has their columns"
            raise BadInput(str(problem).splitlines()[0], key="sql", value=query, fix=fix) from problem


def _answer(db: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    with warnings.catch_warnings():
        # DuckDB's own call of pandas: nobody here can mend it.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return db.df()


def _named(query: str) -> set[str]:
    """The tables of ours whose names are words of a query: one too many costs time and nothing else."""
    return set(re.findall(r"\w+", query.lower())) & {_RUNS, *TABLES}


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """With text in place of categories, as DuckDB has it in every other table; empty columns have a type this way."""
    names = frame.columns[frame.dtypes.astype(str) == "category"]
    return pd.DataFrame(frame).astype(dict.fromkeys(names, str))


def _units(parts: Sequence[Partition]) -> dict[str, str]:
    """Metric -> its unit; several where reports differ."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        for metric, unit in part.units.items():
            found.setdefault(metric, {})[unit] = None
    return {metric: " or ".join(units) for metric, units in found.items()}


def _without_gaps(frame: pd.DataFrame, table: KeptTable) -> pd.DataFrame:
    """Text that is missing is empty, as in the frames of one campaign."""
    texts = [column.name for column in table.schema.columns if column.kind == "str" and column.name in frame]
    return frame.assign(**{name: frame[name].fillna("") for name in texts})
