"""What the loads of a campaign took, as a table and a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import HTML

from benchbook.analysis.circumstances import account, load_s, time_in_words
from benchbook.analysis.formatting import number
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.published import Published


def view(published: Published, campaign: Campaign) -> HTML:
    """Per table: trials and seconds of load; and the sum against the published durations."""
    rows = [
        _row(published, table, part) for table, part in grouped(campaign.records(), lambda record: record.table).items()
    ]
    said = time_in_words(account(published, campaign))
    return show.stack([show.table(rows, "Load time per table"), show.paragraph(said)])


def _row(published: Published, table: str, records: Sequence[Record]) -> dict[str, object]:
    seconds, stated = [load_s(record) for record in records], published.duration_s(table)
    return {
        "table": table,
        "trials": len(records),
        "load": f"{sum(seconds):.0f} s",
        "shortest and longest": f"{number(min(seconds))} to {number(max(seconds))} s",
        "published": f"{stated:.0f} s each" if stated else "not stated",
    }
