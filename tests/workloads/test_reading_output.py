"""What becomes of a load whose parser, which somebody else wrote, is wrong: a failed trial that says where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from benchbook.campaign.record import Quantity
from benchbook.errors import OutputNotParseable, TrialFailed, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.profiles import SysbenchSize
from benchbook.workloads.base import Outcome, Ran
from benchbook.workloads.sysbench import Sysbench

SIZE = SysbenchSize.model_construct(tables=1, table_size=1000, time_s=10, prepare_threads=1, rate=0)
TPS = {"tps": Quantity(value=2, unit="1/s")}
NONE = pd.DataFrame()


class Wrong(Sysbench):
    """A load generator with a parser of somebody else's."""

    def __init__(self, parse: Callable[[], Any]) -> None:
        super().__init__(SIZE, [], 1)
        self.parse = parse

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        found: Outcome = self.parse()
        return found


def read(parse: Callable[[], Any]) -> Outcome:
    ended = Ended("exited", 0, None, 1000.0, 1002.6)
    return Wrong(parse).read([Ran("a", Command(["x"], 1), ended, "2 per second\n", "a warning\n")])


@pytest.mark.parametrize(
    ("parse", "said"),
    [
        (lambda: {}["p95"], r"`outcome` failed: KeyError: 'p95' \(line \d+ of .*test_reading_output.py\)"),
        (lambda: Quantity(value=float("nan"), unit="ms"), r"must be finite and not negative.*test_reading_output.py\)"),
        (lambda: None, "returned NoneType in place of an Outcome"),
        (lambda: Outcome({}, NONE), "returned an empty summary"),
        (lambda: Outcome({"tps": 2.0}, NONE), "returned `tps` without its unit"),  # type: ignore[dict-item]
        (lambda: Outcome(TPS, []), "returned list as its series"),  # type: ignore[arg-type]
        (
            lambda: Outcome(TPS, pd.DataFrame({"t": [1.0], "value": [2.0]})),
            "a series without host, source, metric, unit",
        ),
    ],
)
def test_a_parser_that_is_wrong_fails_the_trial_and_what_was_printed_is_kept(
    parse: Callable[[], Any], said: str
) -> None:
    """It ended the campaign with a bare `KeyError: 'p95'`, and the output that it could not read was lost."""
    with pytest.raises(OutputNotParseable, match=said) as failed:
        read(parse)
    assert failed.value.output == "2 per second\na warning\n"


def test_what_a_parser_says_itself_stays_as_it_is_and_a_load_may_have_no_series() -> None:
    def fails() -> Outcome:
        raise OutputNotParseable("no line with a rate", output="its own")

    with pytest.raises(OutputNotParseable, match=r"^no line with a rate$") as failed:
        read(fails)
    assert failed.value.output == "its own"
    assert read(lambda: Outcome(TPS, NONE)).summary == TPS


@pytest.mark.parametrize("kind", [OutputNotParseable, WorkloadFailed])
def test_what_was_printed_is_kept_where_a_parser_gives_up_without_it(kind: type[TrialFailed]) -> None:
    """Parsers raise these as docs/extending.md shows: the trial's output was empty, and nothing to mend them by."""

    def fails() -> Outcome:
        raise kind("no line with a rate")

    with pytest.raises(kind, match=r"^no line with a rate$") as failed:
        read(fails)
    assert failed.value.output == "2 per second\na warning\n"
