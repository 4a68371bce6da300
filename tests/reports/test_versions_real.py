"""Two names of one system in one campaign, from the command to the page; both are what is built for other tests."""

from __future__ import annotations

import pytest
from kit import INVENTORY, OFFERED, Home, inventory

from benchbook.analysis import results
from benchbook.campaign.store import Campaign

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME = "tidb_v6_2_vs_v6_1_sysbench"
CAMPAIGN = ["-p", 'systems=["tidb", "tidb:6.5"]', "-p", "workloads=[oltp_point_select]", "-p", "threads=[2]",
            "-p", f"rate={OFFERED}"]  # fmt: skip


def test_two_versions_take_turns_each_in_the_place_of_a_published_one(home: Home, net: str) -> None:
    # Hosts of its own: those of the lab that other tests share may be up.
    hosts = {
        "executor": {"address": f"{net}.91", "roles": ["client"]},
        "db1": {"address": f"{net}.92", "roles": ["tidb"]},
    }
    home.write(f"env/hosts/{INVENTORY}.yaml", inventory(net, hosts=hosts))
    status, said = home.run("report", NAME, "--profile", "tiny", "--inventory", INVENTORY, *CAMPAIGN)
    assert status == 0, said
    (plan,) = (home.path / "data" / "runs" / NAME).glob("*/plan.json")
    campaign = Campaign(plan.parent)
    assert (len(campaign.records()), campaign.failures()) == (4, [])
    assert {(r.system, r.levels["version"]) for r in campaign.records()} == {("tidb", "v6.1.0"), ("tidb:6.5", "v6.2.0")}
    about = campaign.environment().systems
    assert {name: (s.title, s.stand_in_for) for name, s in about.items()} == {
        "tidb": ("TiDB (unistore)", "TiDB v6.1.0, a TiDB cluster on TiKV"),
        "tidb:6.5": ("TiDB 6.5 (unistore)", "TiDB v6.2.0, a TiDB cluster on TiKV"),
    }
    kept = {path.parent.parent.name for path in (home.path / ".lab").glob("*/db1/work/*/datasets/*")}
    assert kept == {"tidb", "tidb-6.5"}
    found = results.read(home.path / "site" / f"{NAME}.json")
    measured = [row for row in found.cells if "measured" in row and row["metric"] == "tps"]
    assert sorted(str(row["version"]) for row in measured) == ["v6.1.0", "v6.2.0"]
    assert "TiDB 6.5 (unistore)" in (home.path / "site" / f"{NAME}.html").read_text()
    assert home.processes() == []
