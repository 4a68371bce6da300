"""Repetitions that are added for open claims: decided on once, and followed by whichever run goes on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from in_memory import CELLS, InMemory, begun
from kit import Home

from benchbook.campaign.repetitions import OpenClaim, run_until_decided
from benchbook.campaign.store import Campaign
from benchbook.profiles import Repeating

ROOM = Repeating(most_repetitions=6, budget_min=3)
# Three repetitions more of its cell would decide it, and fewer would not.
OPEN = OpenClaim("c", (CELLS[0],), (0.0, 0.0, 1.0))
ADDED = [f"r0{number}-{CELLS[0].slug}" for number in (3, 4, 5)]


def looked_at_again() -> Sequence[OpenClaim]:
    raise AssertionError("claims were judged after the look that repetitions were decided at")


def interrupted(rule: Repeating = ROOM) -> Campaign:
    """One whose driver was interrupted in the second of three repetitions that it had added."""
    made, looks = begun(), list[int]()
    experiment = InMemory(**{ADDED[1]: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run_until_decided(made, experiment, lambda _: None, rule, lambda: looks.append(len(made.records())) or [OPEN])
    assert (looks, experiment.measured[8:], len(made.plan.ahead)) == ([8], ADDED[:2], 1)
    return made


def test_a_run_that_goes_on_adds_what_was_decided_on_and_looks_at_nothing(home: Home) -> None:
    made = interrupted()
    for measured in (ADDED[1:], []):
        again = InMemory()
        run_until_decided(Campaign(made.folder), again, lambda _: None, ROOM, looked_at_again)
        assert again.measured == measured
    assert (len(made.records()), made.plan.planned, made.missing()) == (11, 8, [])
    assert "nothing else that would have fitted" in made.environment().repetitions_ended


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Repeating(most_repetitions=6, budget_min=1e-9), "the budget of 1e-09 min was used up"),
        (Repeating(most_repetitions=4, budget_min=3), "the profile allows 4 repetitions"),
    ],
)
def test_it_adds_no_more_than_the_profile_allows_by_then(home: Home, rule: Repeating, said: str) -> None:
    made, again = interrupted(), InMemory()
    run_until_decided(Campaign(made.folder), again, lambda _: None, rule, looked_at_again)
    assert again.measured == ADDED[1:2], "of the block that was begun the rest is measured"
    assert made.environment().repetitions_ended == said
