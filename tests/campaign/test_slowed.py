"""Machines that compute more slowly than usual: what is usual, what is done about it, what is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest
from in_memory import InMemory, begun, run
from kit import Home
from records import record

from benchbook.analysis import circumstances
from benchbook.campaign import slowed
from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.slowed import Slowed, Usual, UsualSpeeds
from benchbook.campaign.validity.disturbances import disturbances
from benchbook.campaign.validity.looked_at import LookedAt
from benchbook.probes.samples import COLUMNS

BEGAN, ENDED = 1000.0, 1002.0


def series(*speeds: float, host: str = "db1") -> pd.DataFrame:
    """A sample each second, the first one at the beginning of a load of two."""
    rows = [(BEGAN + i, host, "host", "speed", speed, "1/s") for i, speed in enumerate(speeds)]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_the_speed_of_a_load_is_that_of_its_own_samples() -> None:
    look = LookedAt(BEGAN + 0.5, ENDED, series(9000, 4000, 6000, 1000), {}, {})
    assert look.speeds == {"db1": 5000}
    assert LookedAt(BEGAN, ENDED, series(), {}, {}).speeds == {}
    assert LookedAt(BEGAN, ENDED, series(), {}, {}).slowed == Slowed()


def test_hosts_of_one_machine_have_one_speed_the_median_of_all_their_samples() -> None:
    seen = pd.concat([series(9000, 4000, 6000), series(9000, 5500, 5000, host="db2"), series(1, 2, host="far")])
    boots = {"db1": "one", "db2": "one", "far": "other"}
    look = LookedAt(BEGAN + 1, ENDED, seen, {}, {}, usual=Usual({"db1": 10500.0}, boots))
    assert look.speeds == {"db1": 5250, "far": 2}
    assert look.slowed == Slowed(0.5, "db1")


def test_what_is_usual_is_the_median_of_at_least_two_loads() -> None:
    assert slowed.usual([{"a": 100}]) == {}
    assert slowed.usual([{"a": 100}, {"a": 300, "b": 7}, {"a": 110}]) == {"a": 110}


def test_the_host_that_lost_the_most_speed_counts_and_each_is_compared_with_itself() -> None:
    usual = {"a": 1000, "b": 10}
    assert slowed.slowed({"a": 900, "b": 4}, usual) == Slowed(pytest.approx(0.6), "b")
    assert slowed.slowed({"a": 1100, "b": 10.0, "c": 1}, usual) == Slowed(), "faster is not slower; c is not known"


@pytest.mark.parametrize(
    ("speed", "why"),
    [(8000.0, []), (7900.0, ["db1 computed 21% more slowly than it did under this load before"])],
)
def test_a_fifth_less_than_usual_disturbs_and_may_count(speed: float, why: list[str]) -> None:
    found = disturbances(LookedAt(BEGAN, ENDED, series(1, speed, speed), {}, {}, usual=Usual({"db1": 10000.0})))
    assert [each.why for each in found] == why
    assert not any(each.hard for each in found)
    assert disturbances(LookedAt(BEGAN, ENDED, series(1, speed, speed), {}, {})) == [], "nothing is usual yet"


class Slow(InMemory):
    """A machine of a steady speed, which in the first tries of the `slow` repetitions does `shares` of it."""

    def __init__(self, slow: tuple[int, ...], *shares: float):
        super().__init__()
        self.slow, self.shares = slow, shares

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        made, tried = super().measure(trial, on_rate), self.calls.count(trial.id)
        share = self.shares[tried - 1] if trial.repetition in self.slow and tried <= len(self.shares) else 1.0
        return replace(made, series=series(*[share * 10000] * 11), output=f"try {tried}")


def test_a_load_on_a_slow_machine_is_run_again_once_its_cell_has_a_usual_speed(home: Home) -> None:
    made = begun(repetitions=4)
    experiment = Slow((1, 3), 0.5)
    told = run(made, experiment)
    tries = {record.id: record.proof["tries"] for record in made.records()}
    again = {trial.id for trial in made.trials if trial.repetition == 3}
    assert {name for name, each in tries.items() if len(each) == 2} == again
    said = "disturbed: db1 computed 50% more slowly than it did under this load before"
    # In the third repetition half and whole speed are as usual as each other, at 7,500.
    assert [p.step for p in told if p.step.startswith("disturbed")] == [said.replace("50%", "33%")] * len(again)
    assert all(record.proof["speed"] == {"db1": 10000} for record in made.records() if record.repetition != 1)


def test_of_tries_that_were_all_slow_the_fastest_counts(home: Home) -> None:
    made = begun(repetitions=3)
    run(made, Slow((3,), 0.5, 0.7, 0.6))
    first = next(record for record in made.records() if record.repetition == 3 and len(record.proof["tries"]) == 3)
    assert first.proof["speed"] == {"db1": 7000}
    assert (made.folder / "trials" / first.id / "output.txt").read_text().startswith("try 2")


def test_a_continued_campaign_knows_what_is_usual_from_its_records() -> None:
    kept = [record(proof={"speed": {"db1": speed}}) for speed in (100.0, 102.0, 104.0)]
    assert UsualSpeeds.of([*kept, record()], {"db1": "one"}).of_cell(kept[0]) == Usual({"db1": 102}, {"db1": "one"})
    assert UsualSpeeds.of(kept, {}).of_cell(record(system="mysql")) == Usual()


def test_a_page_says_on_how_slow_a_machine_loads_were_measured() -> None:
    def loads(*speeds: float) -> list[object]:
        return [record(proof={"speed": {"db1": speed}}) for speed in speeds]

    said = (
        "The machine itself was slow: db1 did up to 40% less in the same CPU time than in other loads of the same "
        "cell, in 1 of 4 loads."
    )
    assert circumstances.crowded([*loads(100, 100, 60, 100), record()]) == said
    assert circumstances.crowded(loads(100, 100, 85, 100)) == ""
    assert circumstances.crowded(loads(100, 50)) == "", "of two loads nobody knows which is usual"
