"""Which samples of a trial belong to its load."""

from __future__ import annotations

from records import SUMMARY, record, with_values

from benchbook.campaign.load_window import load_began, window


def test_a_load_begins_by_its_own_time_and_not_when_its_program_was_started() -> None:
    """Its clients connected for two seconds before: what was sampled then stood left of 0 on every axis of time."""
    timed = record("a", started=100.0, ended=112.0, summary=with_values(total_time_s=10.0))
    assert load_began(timed) == 102.0
    assert window(timed) == (102.0, 113.0)


def test_a_load_that_tells_no_time_begins_with_its_program() -> None:
    untimed = {name: value for name, value in SUMMARY.items() if name != "total_time_s"}
    assert window(record("a", started=100.0, ended=112.0, summary=untimed)) == (100.0, 113.0)
    # What it says may be more than its program took, by the rounding of its own clock.
    longer = record("a", started=100.0, ended=110.0, summary=with_values(total_time_s=10.2))
    assert window(longer)[0] == 100.0
