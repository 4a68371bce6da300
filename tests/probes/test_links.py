"""The host probe counts losses of the link that holds the host's own address, and of no other: in a real namespace."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from kit import until

from benchbook.campaign.validity import TrialSamples, disturbances
from benchbook.hosts.agent import remote_program
from benchbook.probes.probe_file import find
from benchbook.probes.samples import to_series

pytestmark = pytest.mark.real

HOST = find("host")
# A host of two cards, eth0 with its address and eth1, and Docker's bridge with a container's link in it. `sw*` are the
# other ends.
CABLES = """\
mount -t sysfs none /sys
for link in eth0 eth1 veth1; do ip link add $link type veth peer name sw-$link; ip link set sw-$link up; done
ip link add docker0 type bridge
ip link set veth1 master docker0
ip address add 10.77.0.11/24 dev eth0
ip address add 10.78.0.11/24 dev eth1
ip address add 172.17.0.1/16 dev docker0
for link in lo eth0 eth1 veth1 docker0; do ip link set $link up; done
echo made
exec sleep 600
"""


class Namespace:
    """Of the network, with a /sys of its own; it ends with its process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def inside(self, *argv: object) -> list[str]:
        return ["nsenter", f"--target={self.process.pid}", *ENTERED, *map(str, argv)]

    def cable(self, link: str, state: str) -> None:
        subprocess.run(self.inside("ip", "link", "set", f"sw-{link}", state), check=True)


UNSHARED = ["--user", "--map-root-user", "--net", "--mount"]
ENTERED = ["--user", "--preserve-credentials", "--net", "--mount"]


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not here (util-linux, iproute2)")
    with subprocess.Popen(["unshare", *UNSHARED, "sh", "-ec", CABLES], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != "made\n":
                pytest.skip("this user may make no network namespace")
            yield Namespace(process)
        finally:
            process.kill()


class Watched:
    """A probe that runs in the namespace, and what it has sampled."""

    def __init__(self, out: Path) -> None:
        self.out = out

    @property
    def series(self) -> pd.DataFrame:
        text = self.out.read_text() if self.out.exists() else ""
        whole = text[: text.rfind("\n") + 1].splitlines()
        return to_series([json.loads(line) for line in whole], "db1", "host", HOST.metrics)

    def last(self) -> dict[str, float]:
        """By interface, how often its link has changed by now."""
        series = self.series
        links = series[series.metric.str.startswith("link_changes.")]
        return dict(links.groupby(links.metric.str.removeprefix("link_changes.")).value.last())

    def sampled_after(self, t: float) -> bool:
        return bool((self.series.t > t).any())


def gate(series: pd.DataFrame, began: float, ended: float) -> list[str]:
    return [
        found.why for found in disturbances(TrialSamples(began, ended, series, {}, {})) if found.condition == "link"
    ]


def test_a_link_that_is_lost_in_mid_load_disturbs_it_and_no_other_link_does(
    namespace: Namespace, tmp_path: Path
) -> None:
    runner, given = (
        remote_program("probes", "run_probe.py"),
        {"reached_at": ["unknown-here.invalid", "10.77.0.11", "10.78.0.11"]},
    )
    words = [sys.executable, runner, tmp_path / "samples", "0.05", HOST.path, json.dumps(given)]
    with subprocess.Popen(namespace.inside(*words)) as probe:
        watched = Watched(tmp_path / "samples")
        try:
            until(lambda: set(watched.last()) == {"eth0"}, "the probe counts the link of the host's address alone")
            for link in ("eth1", "veth1"):
                namespace.cable(link, "down")
                namespace.cable(link, "up")
            began, count = watched.series.t.max(), watched.last()["eth0"]
            until(lambda: watched.sampled_after(began), "a sample after the other links were lost")
            quiet = watched.series.t.max()
            assert gate(watched.series, began, quiet) == []
            namespace.cable("eth0", "down")
            until(lambda: watched.last()["eth0"] == count + 1, "the lost link is counted")
            namespace.cable("eth0", "up")
            until(lambda: watched.last()["eth0"] == count + 2, "the link is back")
        finally:
            probe.terminate()
    series = watched.series
    assert gate(series, quiet, series.t.max()) == [
        "the network link of host db1 (eth0) went down or came up 2 times under load"
    ]
    assert gate(series, series.t.max(), series.t.max() + 10) == [], "a load that begins afterwards has nothing of it"
