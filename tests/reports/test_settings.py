"""What an inventory sets is a condition of a campaign: who changes it begins a new one."""

from __future__ import annotations

from typing import Any, cast

import pytest
from kit import INVENTORY, Home, inventory

from benchbook.hosts.inventory import load_inventory
from benchbook.parameters import OnSystems
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest, common

NET = "127.0.90"
REAL = {**inventory(NET), "lab": False}


def asked(home: Home, **changes: Any) -> dict[str, object]:
    """The conditions of a campaign on a cluster with these changes."""
    mine = load_inventory(str(home.write("mine.yaml", {**REAL, **changes})))
    what = OnSystems(inventory=INVENTORY, profile="tiny", system="tidb")
    return common(RunRequest(cast(Any, None), cast(Any, None), what, load_profile("tiny"), mine))


def with_host(**changes: Any) -> dict[str, Any]:
    hosts = REAL["hosts"]
    return {"hosts": {**hosts, "db1": {**hosts["db1"], **changes}}}


def end(host: str) -> dict[str, Any]:
    return {"endpoints": {"cloud": {"host": host, "port": 4000}}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (with_host(tune=["governor"]), with_host(tune=["governor", "turbo"])),
        (with_host(cpus=[0]), with_host(cpus=[0, 1])),
        (end("a.example.com"), end("b.example.com")),
        (
            {"systems": {"pd": {"settings": {"log.level": "warn"}}}, **with_host(roles=["tidb", "mysql", "pd"])},
            {"systems": {"pd": {"settings": {"log.level": "info"}}}, **with_host(roles=["tidb", "mysql", "pd"])},
        ),
    ],
)
def test_what_is_set_otherwise_is_another_campaign(home: Home, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert "settings" not in asked(home), "campaigns on hosts of which nothing is set go on as they were begun"
    assert asked(home, **one) == asked(home, **one, description="rack 8")
    assert asked(home, **one) != asked(home, **other)
