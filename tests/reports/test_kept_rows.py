"""Whose rows are hashed anew for a proof, and whose answers of before are good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from benchbook.reports.dm.checksum import Execute, KeptRows, RowsDiffer
from benchbook.systems.mysql import BinlogPosition

BEGUN, WRITTEN = BinlogPosition("mysql-bin.000001", 154), BinlogPosition("mysql-bin.000001", 420)


class Server:
    """One table `t` of one column in every database; what its rows come to, how often they were hashed, and logins."""

    def __init__(self, xor: int = 7) -> None:
        self.xor, self.hashed, self.logins = xor, 0, 0

    @contextmanager
    def open(self) -> Iterator[Execute]:
        self.logins += 1
        yield self.execute

    def execute(self, statement: str) -> Sequence[Sequence[Any]]:
        if "information_schema.TABLES" in statement:
            return [("t",)]
        if "information_schema.COLUMNS" in statement:
            return [("id", "int", "NO", "PRI")]
        if "MIN(" in statement:
            return [(2, 1, 2)]
        self.hashed += 1
        return [(2, self.xor, 9)]


@pytest.fixture
def kept() -> KeptRows:
    made = KeptRows({"dm_small", "dm_large"})
    made.begin(BEGUN)
    return made


def test_rows_that_nothing_writes_to_are_hashed_once_on_the_source_and_each_time_on_the_target(kept: KeptRows) -> None:
    source, target = Server(), Server()
    first = kept.prove(source.open, target.open, "dm_small", untouched=True)
    kept.begin(BEGUN)
    logins = source.logins
    second = kept.prove(source.open, target.open, "dm_small", untouched=True)
    assert (source.hashed, target.hashed, source.logins - logins) == (1, 2, 0)
    assert second == first
    assert first.as_json()["same"] is True
    assert [(each["source_rows"], each["target_rows"]) for each in first.as_json()["tables"]] == [(2, 2)]
    # Another database is another question.
    assert kept.prove(source.open, target.open, "dm_large", untouched=True).source_read >= first.source_read
    assert source.hashed == 2


def test_what_was_written_to_during_the_trial_is_hashed_anew(kept: KeptRows) -> None:
    source, target = Server(), Server()
    for _ in range(2):
        kept.prove(source.open, target.open, "dm_small", untouched=False)
    assert source.hashed == 2
    # A sync's rows are other ones each time, whatever its binlog says.
    for _ in range(2):
        kept.prove(source.open, target.open, "dm_sync", untouched=True)
    assert source.hashed == 4


def test_a_trial_left_the_upstream_untouched_if_its_binlog_ends_where_it_began(kept: KeptRows) -> None:
    assert kept.untouched(BEGUN)
    assert not kept.untouched(WRITTEN)
    kept.begin(WRITTEN)
    assert kept.untouched(WRITTEN)
    # Of another server nothing is known.
    kept.forget()
    assert not kept.untouched(WRITTEN)


def test_another_server_is_asked_anew(kept: KeptRows) -> None:
    source, target = Server(), Server()
    kept.prove(source.open, target.open, "dm_small", untouched=True)
    kept.forget()
    kept.begin(BEGUN)
    kept.prove(source.open, target.open, "dm_small", untouched=True)
    assert source.hashed == 2


def test_a_target_that_differs_from_what_was_kept_is_held_against_what_the_source_says_now(kept: KeptRows) -> None:
    source, target = Server(), Server()
    kept.prove(source.open, target.open, "dm_small", untouched=True)
    # Written to between two trials: the next dump has it too.
    source.xor = target.xor = 8
    kept.begin(BEGUN)
    kept.prove(source.open, target.open, "dm_small", untouched=True)
    assert source.hashed == 2
    target.xor = 6
    kept.begin(BEGUN)
    with pytest.raises(RowsDiffer, match="t: 2 and 2 rows in 1 chunks differ: contents of 2 rows"):
        kept.prove(source.open, target.open, "dm_small", untouched=True)
