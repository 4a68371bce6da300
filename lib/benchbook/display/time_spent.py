"""What the loads of a campaign took, as a table and a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from IPython.display import HTML

from benchbook.analysis.formatting import number
from benchbook.analysis.machine_time import account, in_words, load_s
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.hosts.about import Json
from benchbook.published import Published


def view(published: Published, campaign: Campaign) -> HTML:
    """Per table: trials, seconds of load, how tight and how steady; and the sum against the published durations."""
    rows = [
        _row(published, table, part) for table, part in grouped(campaign.records(), lambda record: record.table).items()
    ]
    return show.stack([show.table(rows, "Load time per table"), show.paragraph(in_words(account(published, campaign)))])


def without_interval(judged: Sequence[Json]) -> str:
    """For how many loads there is none, and the reason that most of these have."""
    why = Counter(s["reason"].removeprefix("maximum reached; ") for s in judged if "half_width" not in s)
    if not why:
        return "known"
    return f"none for {why.total()} of {len(judged)}: {why.most_common(1)[0][0]}"


def _row(published: Published, table: str, records: Sequence[Record]) -> dict[str, object]:
    seconds, stated = [load_s(record) for record in records], published.duration_s(table)
    row: dict[str, object] = {
        "table": table,
        "trials": len(records),
        "load": f"{sum(seconds):.0f} s",
        "shortest and longest": f"{number(min(seconds))} to {number(max(seconds))} s",
        "published": f"{stated:.0f} s each" if stated else "not stated",
    }
    judged = [record.proof["stopping"] for record in records if "stopping" in record.proof]
    if judged:
        kinds = Counter(s["steady"] for s in judged)
        row["as tight as asked"] = f"{sum(s['precise'] for s in judged)} of {len(judged)}"
        row["rate's interval"] = without_interval(judged)
        row["steady state"] = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return row
