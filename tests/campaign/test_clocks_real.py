"""A real load while the clock of its hosts is set back."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit import INVENTORY, OFFERED, REPORT

from benchbook import published
from benchbook.campaign import design, run, store, validity
from benchbook.campaign.progress import Listener, Progress
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

pytestmark = pytest.mark.real

BACK_S = 60.0
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
    # Whether this machine is left alone is not what is tested.
    for name in ("STOLEN", "CPU_BY_OTHERS", "DISK_BY_OTHERS"):
        monkeypatch.setattr(validity, name, math.inf)
    return flag


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
