"""A real load while the clock of its hosts is set back."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from begun import begun
from kit import INVENTORY, OFFERED, REPORT

from benchbook.campaign import run, validity
from benchbook.hosts.host import Host
from benchbook.reports.load.load_kind import LoadParameters

pytestmark = pytest.mark.real

BACK_S = 60.0
WHAT = LoadParameters(
    inventory=INVENTORY, profile="tiny", system="mariadb", workloads=["oltp_point_select"], threads=[1], time_s=4,
    rate=OFFERED,
)  # fmt: skip
# Once the file is there, the clock of all hosts is behind, for their jobs and probes.
SET_BACK = """
import time
real = time.time
time.time = lambda: real() - {back_s} * os.path.exists({flag!r})
"""
# The supervisor of the load makes it: a second after its start, when it first looks after it, or when that has ended.
IN_LOAD = """
waited = Supervisor.wait


def wait(self, pid, seconds):
    found = waited(self, pid, seconds)
    if "run" in self.job["argv"] and (found or not {at_end}):
        open({flag!r}, "a").close()
    return found


Supervisor.wait = wait


if __name__ == "__main__":
"""


@pytest.fixture(params=[False, True], ids=["while it runs", "as it ends"])
def set_back(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every host's clock goes back in the first load."""
    push, flag = Host.push, str(tmp_path / "set")

    def pushed(host: Host, local: Path, *, executable: bool = False) -> str:
        if local.name in ("run_probe.py", "agent.py"):
            text = local.read_text()
            assert "\nimport time\n" in text
            text = text.replace("\nimport time\n", SET_BACK.format(back_s=BACK_S, flag=flag))
            if local.name == "agent.py":
                text = text.replace('\nif __name__ == "__main__":\n', IN_LOAD.format(flag=flag, at_end=request.param))
            local = tmp_path / local.name
            local.write_text(text)
        return push(host, local, executable=executable)

    monkeypatch.setattr(Host, "push", pushed)
    # Whether this machine is left alone is not what is tested.
    for name in ("STOLEN", "CPU_BY_OTHERS", "DISK_BY_OTHERS"):
        monkeypatch.setattr(validity, name, math.inf)


@pytest.mark.usefixtures("lab", "set_back")
def test_a_load_whose_clock_is_set_back_by_more_than_it_lasts_is_disturbed_and_run_again() -> None:
    """It ended before it began, which no record may, and the campaign with it."""
    experiment, campaign = begun(REPORT, WHAT)
    try:
        run.run(campaign, experiment, lambda progress: None)
        assert [record.status for record in campaign.records()] == ["done"]
        assert campaign.disturbed() != []
        assert [record.id for record in campaign.disturbed() if record.ended <= record.started] == []
    finally:
        # Others of this lab count the records that they find.
        shutil.rmtree(campaign.folder)
