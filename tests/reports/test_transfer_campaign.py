"""The DDT report over real servers, as small as it can be: three engines, proof, records, page, and a page again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kit import OWN_PROBES, PROFILE, TESTS, Home

from benchbook.campaign.store import Campaign

pytestmark = [pytest.mark.real, pytest.mark.slow]

DOCUMENTS = 1500


@pytest.fixture(scope="module")
def restaged(tmp_path_factory: pytest.TempPathFactory, net: str) -> tuple[Home, int, str]:
    """One combination, one repetition; DDT is a program that behaves as its jar does, run by a `java` of the test."""
    home = Home.make(tmp_path_factory.mktemp("ddt") / "home", net)
    java = home.write("java", f'#!/bin/sh\nshift 4\nexec {sys.executable} "$@"\n')
    java.chmod(0o755)
    lab = {
        "lab": True, "description": "lab of a test",
        "ssh": {"port": 2222, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts", "lease_s": 20},
        "hosts": {
            "source": {"address": f"{net}.61", "roles": ["source"]},
            "target": {"address": f"{net}.62", "roles": ["target"]},
            "client": {"address": f"{net}.69", "roles": ["client"]},
        },
        "systems": {"mongo": {"port": 27017}}, "programs": {"java": str(java)},
    }  # fmt: skip
    home.write("env/hosts/lab_moving.yaml", lab)
    home.write("env/profiles/watched.yaml", {**PROFILE, "probes": list(OWN_PROBES)})
    for name, text in OWN_PROBES.items():
        home.write(f"env/probes/{name}.py", text)
    jar = TESTS / "transfer" / "fake_ddt.py"
    words = ["report", "ddt_full_scale", "--profile", "watched", "--inventory", "lab_moving", "-p", f"ddt_jar={jar}"]
    small = ["-p", "caches=[32]", "-p", "threads=[5/15]", "-p", "repetitions=1", "-p", f"documents={DOCUMENTS}"]
    return home, *home.run(*words, *small)


def campaign_of(home: Home) -> Campaign:
    (plan,) = (home.path / "data" / "runs" / "ddt_full_scale").glob("*/plan.json")
    return Campaign(plan.parent)


def test_every_engine_is_measured_and_its_copy_proved(restaged: tuple[Home, int, str]) -> None:
    home, status, said = restaged
    assert status == 0, said
    campaign = campaign_of(home)
    records = campaign.records()
    assert sorted(record.system for record in records) == ["ddt", "mongodump", "pymongo"]
    for record in records:
        assert record.proof["agrees"]
        assert "failed_probes" not in record.proof
        assert len(record.proof["collections"]) == 10
        assert all(each["source"] == each["target"] for each in record.proof["collections"])
        assert record.summary["documents"].value == DOCUMENTS
        assert record.summary["qps"].value > 0
        series = campaign.series(record.id)
        assert {"cpu.transfer", "rss.transfer"} <= set(series[series.host == "client"].metric)
        # A server that runs has memory: its job is found under the name that it was started with.
        for side in ("source", "target"):
            assert series[(series.host == side) & (series.metric == f"rss.{side}")].value.max() > 1e6
            assert f"cpu.{side}" in set(series[series.host == side].metric)
        assert set(series[series.source == "mine"].host) == {"source", "target", "client"}
        doors = series[(series.source == "doors") & (series.metric == "port")]
        assert set(zip(doors.host, doors.value, strict=True)) == {("mongo:source", 27017.0), ("mongo:target", 27017.0)}


def test_the_page_and_its_data_show_published_beside_measured(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    page = (home.path / "site" / "ddt_full_scale.html").read_text()
    assert page.count("<img alt=") >= 3
    assert "FerretDB (source)" in page or "MongoDB (source)" in page
    found = json.loads((home.path / "site" / "ddt_full_scale.json").read_text())
    rows = [row for row in found["cells"] if (row["table"], row["metric"]) == ("cache_32", "qps")]
    mine = {row["system"] for row in rows if row.get("measured") and row["published"] == 145062}
    assert mine == {"pymongo", "ddt"}
    # Another worker of this suite may take CPU from a trial, which is then tried again.
    assert {**found["trials"], "disturbed": 0} == {"planned": 3, "done": 3, "failed": 0, "disturbed": 0}


def test_nothing_runs_on_and_no_job_folder_stays(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    assert not home.processes()
    assert not list(Path(home.path / ".lab").glob("*/*/work/jobs/*"))
    # The last copy is of no use to anybody; what it was made of is kept for the next run.
    kept = [data.parent.name for data in Path(home.path / ".lab").glob("*/*/work/*/data") if any(data.iterdir())]
    assert kept == ["ferret-source"]
