"""The short load before a load of ab, and how many requests it says the load needs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit import FIXTURES

from benchbook.hosts.agent import Command
from benchbook.reports.saga.ladder import LoadAsked, WarmUp
from benchbook.workloads import ab

LOAD = LoadAsked("mysql57", "http://127.0.0.1:8081/dtm/2", 10)
# Of the fixtures: `timelimit` was a try of some seconds, `success` a whole load of 320.24 requests/s.
TRIED, LOADED = ((FIXTURES / "ab" / f"{name}.txt").read_text() for name in ("timelimit", "success"))


def words(command: Command) -> Sequence[str]:
    """How long it is to last, as ab is told."""
    said = [str(word) for word in command.argv]
    return said[said.index("90") + 1 : -1]


def test_a_load_that_nobody_has_seen_is_tried_for_whole_seconds() -> None:
    warm = WarmUp(time_s=60, program="ab")
    assert words(warm.command(LOAD)) == ["-t", "3", "-n", "50000000", "-c", "10"]
    assert WarmUp(time_s=3, program="ab").seconds == 1
    rate = warm.requests(LOAD, TRIED) / 60
    assert rate == pytest.approx(float(TRIED.partition("Requests per second:")[2].split()[0]), rel=0.01)


def test_the_next_load_of_its_kind_is_as_long_and_follows_sooner() -> None:
    warm = WarmUp(time_s=60, program="ab")
    warm.requests(LOAD, TRIED)
    warm.loaded(LOAD, ab.parse(LOADED).requests_per_s)
    # 0.1 of 3 s at 320.24 requests/s, where the servers run; then 60 s of them, whatever the warm-up itself reached.
    assert words(warm.command(LOAD)) == ["-n", "96", "-c", "10"]
    assert warm.requests(LOAD, TRIED) == round(320.24 * 60)
    other = LOAD._replace(store="mariadb")
    assert words(warm.command(other))[0] == "-t", "another server has another rate"


def test_servers_that_were_started_are_warmed_as_if_new() -> None:
    warm = WarmUp(time_s=60, program="ab")
    warm.loaded(LOAD, ab.parse(LOADED).requests_per_s)
    assert words(warm.command(LOAD))[0] == "-t", "no load has run on these servers yet"
    assert warm.requests(LOAD, TRIED) == round(320.24 * 60), "what a load showed is known better than by a try"
    assert words(warm.command(LOAD))[0] == "-n"
    warm.servers_started()
    assert words(warm.command(LOAD))[0] == "-t"
