"""A real load on two hosts of which one's clock is ahead: what its probes saw stands beside the load all the same."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit import INVENTORY, OFFERED, REPORT

from benchbook import published
from benchbook.campaign import design, record, run, store, validity
from benchbook.campaign.progress import Listener, Progress
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

pytestmark = pytest.mark.real

AHEAD_S, BACK_S = 100.0, 60.0
WHAT = LoadParameters(
    inventory=INVENTORY,
    profile="tiny",
    system="mariadb",
    workloads=["oltp_point_select"],
    threads=[1],
    repetitions=1,
    rate=OFFERED,
)


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The clock of db1 is ahead, for who asks it and for its probes: hosts of a lab have one clock between them."""
    push, now = Host.push, Host.now

    def pushed(host: Host, local: Path, *, executable: bool = False) -> str:
        if host.name == "db1" and local.name == "run_probe.py":
            head, told, rest = local.read_text().partition("\nimport time\n")
            assert told
            local = tmp_path / local.name
            local.write_text(f"{head}{told}real = time.time\ntime.time = lambda: real() + {AHEAD_S}\n{rest}")
        return push(host, local, executable=executable)

    monkeypatch.setattr(Host, "push", pushed)
    monkeypatch.setattr(Host, "now", lambda host: now(host) + AHEAD_S * (host.name == "db1"))
    # Whether this machine is left alone is not what is tested.
    _let_others(monkeypatch)


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Once this file is there, the clock of all hosts is a minute behind, for their jobs and probes."""
    push, flag = Host.push, tmp_path / "set"

    def pushed(host: Host, local: Path, *, executable: bool = False) -> str:
        if local.name in ("run_probe.py", "agent.py"):
            head, told, rest = local.read_text().partition("\nimport time\n")
            assert told
            local = tmp_path / local.name
            is_set = f"{BACK_S} * os.path.exists({str(flag)!r})"
            local.write_text(f"{head}{told}real = time.time\ntime.time = lambda: real() - {is_set}\n{rest}")
        return push(host, local, executable=executable)

    monkeypatch.setattr(Host, "push", pushed)
    _let_others(monkeypatch)
    return flag


def _let_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STOLEN", "CPU_BY_OTHERS", "DISK_BY_OTHERS"):
        monkeypatch.setattr(validity, name, math.inf)


@pytest.fixture
def measured() -> Iterator[Callable[..., store.Campaign]]:
    """Measures; what it has recorded goes with the test, for others of this lab count the records that they find."""
    begun: list[store.Campaign] = []

    def measure(listen: Listener, what: LoadParameters = WHAT) -> store.Campaign:
        begun.append(_planned(what))
        experiment = LoadKind().experiment(
            published.load(REPORT), what, load_profile("tiny"), load_inventory(INVENTORY)
        )
        run.run(begun[-1], experiment, listen)
        return begun[-1]

    yield measure
    for campaign in begun:
        shutil.rmtree(campaign.folder)


def _planned(what: LoadParameters) -> store.Campaign:
    report, profile = published.load(REPORT), load_profile("tiny")
    inventory: Inventory = load_inventory(INVENTORY)
    asked = LoadKind().asked(report, what, profile, inventory)
    trials = design.plan(LoadKind().cells(report, what), 1, seed=1, asked=asked)
    return store.start_or_continue(REPORT, asked, trials, seed=1)


@pytest.mark.usefixtures("lab")
def test_a_load_whose_clock_is_set_back_by_more_than_it_lasts_is_disturbed_and_run_again(
    set_back: Path, measured: Callable[..., store.Campaign]
) -> None:
    """It ended before it began, which no record may, and the campaign with it."""

    def listen(progress: Progress) -> None:
        if progress.rate is not None:
            set_back.touch()

    # Long enough that a rate is told of before it ends, however busy this machine is.
    campaign = measured(listen, WHAT.model_copy(update={"time_s": 16}))
    assert [record.status for record in campaign.records()] == ["done"]
    assert campaign.disturbed() != []
    assert [record.id for record in campaign.disturbed() if record.ended <= record.started] == []


@pytest.mark.usefixtures("lab", "ahead")
def test_a_load_beside_a_host_whose_clock_is_ahead_counts(measured: Callable[..., store.Campaign]) -> None:
    """It was refused; without the refusal it was disturbed: no sample of db1 came while it ran."""
    campaign = measured(lambda said: None)
    (done,) = campaign.records()
    assert campaign.disturbed() == []
    series = record.load_series(campaign.folder / "trials" / done.id)
    inside = series[series.t.between(done.load_began, done.ended)]
    assert {"db1", "executor"} <= set(inside[inside.source == "host"].host)
    named = [(one.host, one.found) for one in campaign.environment().findings if one.what.startswith("clock against")]
    assert named == [("db1", "+100.0 s")]
