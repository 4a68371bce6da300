"""The plan: what is shuffled, what is not, and what makes two trials the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from benchbook.campaign.design import Cell, Trial, another_block, blocks, digest, plan
from benchbook.errors import BadInput

CELLS = [
    Cell(table=f"t_{workload}", system=system, levels={"workload": workload, "threads": threads})
    for system in ("tidb", "mariadb")
    for workload in ("a", "b")
    for threads in (1, 2, 4)
]
ASKED = {"time_s": 2, "seed": 1}


def made(cells: list[Cell] = CELLS, repetitions: int = 4, seed: int = 1, **changes: object) -> list[Trial]:
    return plan(cells, repetitions, seed=seed, asked={**ASKED, **changes})


def test_every_cell_once_in_every_repetition() -> None:
    trials = made()
    assert len(trials) == 4 * 12
    for repetition in (1, 2, 3, 4):
        mine = [t.cell for t in trials if t.repetition == repetition]
        assert sorted(mine, key=str) == sorted(CELLS, key=str)
    assert [t.order for t in trials] == list(range(48))
    assert len({t.id for t in trials}) == len({t.identity for t in trials}) == 48


def test_repetitions_are_blocks_and_only_one_system_runs_at_a_time() -> None:
    parts = blocks(made())
    assert [len(part) for part in parts] == [6] * 8
    assert [{t.repetition for t in part} for part in parts] == [{1 + i // 2} for i in range(8)]
    assert all(len({t.cell.system for t in part}) == 1 for part in parts)


def test_the_order_inside_a_block_changes_from_repetition_to_repetition() -> None:
    orders = [[t.cell.slug for t in part] for part in blocks(made(repetitions=6)) if part[0].cell.system == "tidb"]
    assert len({tuple(order) for order in orders}) > 1
    first = {part[0].cell.system for part in blocks(made(repetitions=8))[::2]}
    assert first == {"tidb", "mariadb"}, "neither system is always the first of a repetition"


def test_what_grows_along_a_block_is_the_same_for_every_cell_in_two_repetitions() -> None:
    places: dict[str, list[int]] = {}
    for part in blocks(made(repetitions=4)):
        for place, trial in enumerate(part, start=1):
            places.setdefault(trial.cell.key, []).append(place)
    # Of 6 cells in a block, the first one of a repetition is the last one of the next: 1 + 6, 2 + 5, ...
    assert {(one + two, three + four) for one, two, three, four in places.values()} == {(7, 7)}
    assert len({(one, three) for one, _, three, _ in places.values()}) > 6, "each pair has a random order of its own"
    of_systems = [part[0].cell.system for part in blocks(made(repetitions=4))]
    assert of_systems[:4] == of_systems[:4][::-1]


def test_an_added_block_is_the_other_half_of_a_pair_whatever_cells_it_holds() -> None:
    trials = plan(CELLS, 3, seed=1, asked=ASKED)
    third = [t.cell for t in trials if t.repetition == 3]
    some = CELLS[1:4]
    added = another_block(trials, some, seed=1, asked=ASKED)
    assert [t.cell for t in added] == [cell for cell in third[::-1] if cell in some]


def test_some_cells_stand_in_the_first_repetitions_alone_and_the_others_where_they_stood() -> None:
    fewer = {CELLS[0].key: 1, CELLS[7].key: 2}
    trials = plan(CELLS, 4, seed=1, asked=ASKED, fewer=fewer)
    counts = {cell.key: [t.repetition for t in trials if t.cell == cell] for cell in CELLS}
    assert {key: counts[key] for key in fewer} == {CELLS[0].key: [1], CELLS[7].key: [1, 2]}
    assert all(counts[cell.key] == [1, 2, 3, 4] for cell in CELLS if cell.key not in fewer)
    assert [t.order for t in trials] == list(range(48 - 3 - 2))
    kept = [t.id for t in made() if t.repetition <= fewer.get(t.cell.key, 4)]
    assert [t.id for t in trials] == kept, "the same order, without those that are left out"


def test_the_identity_of_a_trial_is_what_was_asked_for_and_nothing_else() -> None:
    def identities(trials: list[Trial]) -> dict[str, str]:
        return {t.id: t.identity for t in trials}

    assert identities(made(seed=2)) == identities(made()), "the run order is no condition"
    assert [t.id for t in made(seed=2)] != [t.id for t in made()], "another seed, another order"
    more = identities(made(repetitions=5))
    assert {name: more[name] for name in identities(made())} == identities(made())
    changed = identities(made(time_s=3))
    assert all(changed[name] != was for name, was in identities(made()).items())
    other = CELLS[0].model_copy(update={"table": "t_other"})
    assert made([other])[0].identity != made([CELLS[0]])[0].identity


def test_blocks_of_what_is_left_keep_the_run_order() -> None:
    trials = made()
    left = [t for t in trials if t.order % 3 == 0]
    parts = blocks(left[::-1])
    flat = [t.order for part in parts for t in part]
    assert flat == sorted(flat)
    assert all(a[0].cell.system != b[0].cell.system or a[0].repetition != b[0].repetition for a, b in pairwise(parts))
    assert blocks([]) == []


def test_names_of_trials_are_names_of_folders() -> None:
    cell = Cell(table="t", system="endpoint:cloud", levels={"workload": "a/b", "threads": 8})
    assert made([cell])[0].id == "r01-endpoint_cloud-a_b-threads8"


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest([1, 2]) != digest([2, 1])


def test_two_cells_of_one_name_are_refused_because_one_record_would_replace_the_other():
    cell = Cell(table="a", system="tidb", levels={"workload": "w", "threads": 1})
    with pytest.raises(BadInput, match="r01-tidb-w-threads1"):
        plan([cell, cell], 1, seed=1, asked={})
    two = plan([cell, cell.model_copy(update={"table": "b"})], 1, seed=1, asked={})
    assert {trial.id for trial in two} == {"r01-a-tidb-w-threads1", "r01-b-tidb-w-threads1"}


def test_a_name_that_no_file_system_takes_is_refused_before_any_load(tmp_path: Path) -> None:
    """It was "cannot be written: free some space", once the first trial had been measured."""

    def planned(text: str) -> list[Trial]:
        return plan([Cell(table="t", system="x", levels={"mix": text})], 1, seed=1, asked={})

    with pytest.raises(BadInput, match=r"^levels: no record can be kept under so long a name \(got 'r01-x-äää"):
        planned("ä" * 120)
    (longest,) = planned("y" * 224)
    # An attempt at it that is half written has the longest name.
    (tmp_path / f"{longest.id}.9999.partial").mkdir()
