"""Rows per INSERT statement in the files that mydumper wrote, counted on the host: only the counts travel."""

from __future__ import annotations

import re

from benchbook.errors import OutputNotParseable

# One line per row, as mydumper writes them. The last statement of a file is whatever was left, so it is kept apart.
COUNT_ROWS = (
    r"FNR==1 {if (n) last[n]++; n=0} /^INSERT INTO/ {if (n) full[n]++; n=0} /^\(/ {n++} "
    r'END {if (n) last[n]++; for (i in full) print "full", i, full[i]; for (i in last) print "last", i, last[i]}'
)
_COUNT = re.compile(r"(full|last) (\d+) (\d+)")


def count_command(folder: str) -> str:
    """Shell words that print the counts of a dump's data files; the folder must already be quoted for the shell."""
    return f"find {folder} -name '*.sql' ! -name '*-schema*.sql' -exec awk '{COUNT_ROWS}' {{}} +"


def rows_per_statement(printed: str) -> float:
    """Mean rows of the statements that were filled up to --statement-size; of all, where no file has a second one.

    Raises OutputNotParseable when nothing was counted.
    """
    counts = [(kind, int(rows), int(times)) for kind, rows, times in _COUNT.findall(printed)]
    chosen = [(rows, times) for kind, rows, times in counts if kind == "full"] or [each[1:] for each in counts]
    if not chosen:
        raise OutputNotParseable(f"no INSERT statement was counted in the dump: {printed.strip()[:200]!r}")
    return sum(rows * times for rows, times in chosen) / sum(times for _, times in chosen)
