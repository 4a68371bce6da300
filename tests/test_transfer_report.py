"""The DDT report's parts, by hand: cells, commands, figures of a trial, the verdict on the bottleneck, the probe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchbook import published
from benchbook.bench import transfer_bench
from benchbook.campaign import design
from benchbook.campaign.record import Quantity
from benchbook.campaign.scaled_levels import scaled, trials_as_published
from benchbook.errors import BadInput, OutputNotParseable, WorkloadFailed
from benchbook.hosts.about import HostFacts, Survey
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.jobs import Ended, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.probes.known_probes import PROCESS
from benchbook.probes.probe_file import read
from benchbook.probes.samples import COLUMNS, to_series
from benchbook.profiles import load_profile
from benchbook.reports.transfer import engines, transfer_kind
from benchbook.reports.transfer.engines import Ddt, Mongodump, Moved, Pymongo
from benchbook.reports.transfer.transfer_kind import TransferParameters
from benchbook.reports.transfer.transfer_summary import CopyRun, bottleneck, overlapping_mean, summarise, ten_seconds
from benchbook.systems import mongo
from benchbook.transfer import peer
from benchbook.transfer.settings import MongoEndpoint

LEVELS: dict[str, str | int | float] = {
    "source_threads": 5, "target_threads": 15, "cache_bucket_size": 32, "cache_bucket_num": 33, "data_batch_size": 128,
}  # fmt: skip
SOURCE = MongoEndpoint("mongodb://reader@127.0.0.5:27017/", "pass word")
TARGET = MongoEndpoint("mongodb://127.0.0.6:27017/")


def asked(**changes: Any) -> TransferParameters:
    return TransferParameters(inventory="lab_ddt", **changes)


@pytest.fixture(scope="module")
def report() -> published.Published:
    return published.load("ddt_full_scale")


@pytest.fixture
def client() -> RemoteHost:
    """The client host of the lab; nothing is sent to it."""
    return RemoteHost(load_inventory("lab_ddt"), "client")


# -- cells -----------------------------------------------------------------------------------------------------------


def test_eleven_combinations_for_each_engine_with_knobs_and_one_cell_for_the_peer(report: published.Published) -> None:
    cells = transfer_kind.TransferKind().cells(report, asked(ddt_jar="/x.jar"))
    assert [cell.system for cell in cells] == ["pymongo"] * 11 + ["ddt"] * 11 + ["mongodump"]
    last = cells[10].levels
    assert (last["cache_bucket_size"], last["cache_bucket_num"], last["data_batch_size"]) == (64, 64, 128)
    assert (last["source_threads"], last["target_threads"]) == (8, 24)
    assert len({cell.slug for cell in cells}) == 23


def test_every_combination_finds_its_published_figure(report: published.Published) -> None:
    for cell in transfer_kind.TransferKind().cells(report, asked(engines=["pymongo"])):
        assert report.table(cell.table).value("qps", **cell.levels)


def test_scaled_threads_and_caches_stay_apart_and_are_read_back_as_published(report: published.Published) -> None:
    kind, smoke = transfer_kind.TransferKind(), load_profile("smoke")
    names = kind.scaled(asked(), smoke)
    cells = kind.cells(report, asked(engines=["pymongo"]))
    # Times 2 / 40: 5, 6, 8 are 1, 2, 3; 15, 20, 24 are 1, 2, 3; 32, 48, 64 are 2, 3, 4.
    found, scaling = scaled(cells, names, cores_here=2, cores_published=40)
    in_48 = [list(cell.levels.values()) for cell in found if cell.table == "cache_48"]
    assert in_48 == [[1, 1, 3, 3, 128], [2, 2, 3, 3, 128], [2, 3, 3, 3, 128], [3, 3, 3, 3, 128]]
    assert {cell.levels["cache_bucket_size"] for cell in found} == {2, 3, 4}
    back = trials_as_published(design.plan(found, 1, seed=1, asked={}), scaling)
    assert {trial.cell.model_dump_json() for trial in back} == {cell.model_dump_json() for cell in cells}
    assert "cache bucket size 32 → 2, 48 → 3, 64 → 4" in scaling.sentence()
    assert kind.scaled(asked(levels="published"), smoke) == ()
    assert kind.repeating(smoke) == smoke.transfer.repeat != smoke.repeat
    assert kind.repeating(load_profile("lab")) == load_profile("lab").repeating


def test_parameters_narrow_the_combinations(report: published.Published) -> None:
    cells = transfer_kind.TransferKind().cells(report, asked(engines=["pymongo"], caches=[32, 64], threads=["8/24"]))
    assert [cell.table for cell in cells] == ["cache_64"]
    with pytest.raises(BadInput, match=r"threads are 5/15, 6/20, 6/24, 8/24"):
        transfer_kind.TransferKind().cells(report, asked(threads=["1/1"]))


def test_an_engine_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="ddt_jar"):
        asked(engines=["ddt"]).names()
    with pytest.raises(BadInput, match="pymongo, ddt, mongodump"):
        asked(engines=["rsync"]).names()
    assert asked().names() == ["pymongo", "mongodump"]


def test_a_server_that_cannot_be_is_refused() -> None:
    inventory = load_inventory("lab_ddt")
    assert mongo.check(inventory, "") == ["source", "target"]
    with pytest.raises(BadInput, match="mongod, ferret, endpoint"):
        mongo.check(inventory, "oracle")
    with pytest.raises(BadInput, match="source and target"):
        mongo.check(inventory, "endpoint")


# -- commands --------------------------------------------------------------------------------------------------------


def test_our_transfer_is_given_every_knob_and_no_password(client: RemoteHost) -> None:
    engine = Pymongo(client)
    engine.program = "/venv/bin/python"
    command = engine.command(LEVELS, SOURCE, TARGET)
    words = [str(word) for word in command.argv]
    given = dict(pairwise(words))
    assert given["--source-threads"] == "5"
    assert given["--target-threads"] == "15"
    assert given["--cache-bucket-size"] == "32"
    assert given["--cache-bucket-num"] == "33"
    assert given["--batch-size"] == "128"
    assert given["--source-password-file"] == "{job}/source_password"
    assert "--target-password-file" not in words
    assert command.secrets == {"source_password": "pass word"}
    assert "pass word" not in " ".join(words)


def test_ddt_gets_its_properties_as_a_secret_file(client: RemoteHost) -> None:
    engine = Ddt(client, "/opt/execute.jar", 256)
    engine.java = "/usr/bin/java"
    command = engine.command(LEVELS, SOURCE, TARGET)
    assert command.argv == ["/usr/bin/java", "-Xms256m", "-Xmx256m", "-jar", "/opt/execute.jar", "{job}/DDT.properties"]
    text = command.secrets["DDT.properties"]
    for line in ("sourceThreadNum=5", "targetThreadNum=15", "bucketSize=32", "bucketNum=33", "batchSize=128"):
        assert f"{line}\n" in text


def test_the_peer_reads_its_password_from_a_file(client: RemoteHost) -> None:
    engine = Mongodump(client)
    engine.tools = peer.Tools(Path("/t/mongodump"), Path("/t/mongorestore"))
    command = engine.command(transfer_kind.PEER_LEVELS, SOURCE, TARGET)
    assert "--config={job}/source_password.yaml" in str(command.argv[-1]).replace("'", "")
    assert command.secrets == {"source_password.yaml": 'password: "pass word"\n'}
    assert "pass word" not in str(command.argv)


def test_what_our_transfer_says_is_read(client: RemoteHost) -> None:
    said = {"status": "complete", "documents": 200, "seconds": 2.0, "most_documents_in_flight": 50, "error": None,
            "knobs": {"documents_in_flight_bound": 100, "processes": 2}}  # fmt: skip
    samples = '{"t": 1.0, "rate": 90.0}\n{"t": 2.0, "rate": 110.0}\n'
    moved = Pymongo(client).read(json.dumps(said), "", samples)
    assert (moved.documents, moved.seconds, moved.cache_full, moved.processes) == (200, 2.0, 0.5, 2)
    assert moved.rates == [(1.0, 90.0), (2.0, 110.0)]
    with pytest.raises(WorkloadFailed, match="disk is full"):
        Pymongo(client).read(json.dumps({**said, "status": "failed", "error": "disk is full"}), "", "")
    with pytest.raises(OutputNotParseable, match="Killed"):
        Pymongo(client).read("", "Killed", "")


# -- figures of a trial ----------------------------------------------------------------------------------------------


def rows(metric: str, values: list[tuple[float, float]], source: str = "process", host: str = "a") -> pd.DataFrame:
    return pd.DataFrame([(t, host, source, metric, v, "x") for t, v in values], columns=COLUMNS)


def load_of(moved: Moved, *parts: pd.DataFrame, cpu_s: float = 3.0) -> CopyRun:
    """A run of 4 s from t = 10 whose copying took the last 2 s."""
    return CopyRun(moved, Ended("exited", 0, None, 10.0, 14.0, cpu_s), pd.concat(parts), "a")


def test_a_rate_is_weighted_by_the_time_that_it_holds() -> None:
    rates = pd.DataFrame({"t": [1.0, 2.0, 4.0], "value": [9.0, 1.0, 3.0]})
    assert overlapping_mean(rates, 1.0, 4.0) == pytest.approx((1 * 1 + 3 * 2) / 3)
    assert overlapping_mean(rates, 1.5, 2.5) == pytest.approx((1 * 0.5 + 3 * 0.5) / 1)
    assert overlapping_mean(rates.iloc[:0], 0, 1) == 0


def test_the_figures_of_a_trial_by_hand() -> None:
    # 1 core in the first 2 s (its start), so 3 - 2 = 1 CPU second is left for 2 s of copying: 50%.
    cpu = rows("cpu.transfer", [(11.0, 1.0), (12.0, 1.0), (13.0, 0.4)])
    memory = rows("rss.transfer", [(11.0, 9e9), (13.0, 10e6), (14.0, 30e6)])
    servers = rows("cpu.target", [(12.0, 0.0), (13.0, 1.0), (14.0, 0.5)])
    found = summarise(load_of(Moved(1000, 2.0, cache_full=0.25), cpu, memory, servers))
    plain = {name: quantity.value for name, quantity in found.items()}
    assert plain["qps"] == 500
    assert plain["wall_qps"] == 250
    assert plain["cpu_percent"] == pytest.approx(50)
    assert (plain["memory_mb"], plain["peak_memory_mb"]) == (20, 30)
    assert plain["cpu_s_per_million"] == pytest.approx(3000)
    assert (plain["source_cores"], plain["target_cores"]) == (0, 0.75)
    assert plain["cache_full"] == 0.25


def test_the_published_columns_are_among_the_figures(report: published.Published) -> None:
    found = summarise(load_of(Moved(1000, None), rows("rss.transfer", [(11.0, 1e6)])))
    assert set(report.table("cache_32").metrics) <= set(found)
    assert found["total_time_s"].value == 4


def test_ten_second_averages_begin_with_the_copying() -> None:
    # A sample holds since the one before: (1 x 1 + 3 x 4 + 10 x 5) / 10 first, then (10 x 1 + 30 x 4) / 5.
    frame = pd.DataFrame({"t": [101.0, 105.0, 111.0, 115.0], "value": [1.0, 3.0, 10.0, 30.0]})
    found = ten_seconds(frame, 100.0).to_dict("list")
    assert found == {"t": [110.0, 115.0], "value": pytest.approx([6.3, 26.0])}
    assert ten_seconds(frame.iloc[:0], 100.0).empty


# -- the bottleneck --------------------------------------------------------------------------------------------------

PLACES = {"transfer": "a", "source": "b", "target": "b"}


def surveyed(same: bool) -> Survey:
    boots = {"a": "1", "b": "1" if same else "2"}
    return Survey(hosts={name: HostFacts(cores=4, boot_id=boot) for name, boot in boots.items()})


def used(cores: dict[str, float], busy: dict[str, float]) -> list[pd.DataFrame]:
    parts = [rows(f"cpu.{label}", [(12.0, v), (13.0, v), (14.0, v)]) for label, v in cores.items()]
    return parts + [rows("cpu.user", [(12.0, v), (14.0, v)], "host", host) for host, v in busy.items()]


@pytest.mark.parametrize(
    ("moved", "cores", "busy", "cpu_s", "who"),
    [
        (Moved(1, 2.0), {"transfer": 0.5, "source": 0.5, "target": 3.0}, {"a": 0.6, "b": 3.9}, 2, "target"),
        (Moved(1, 2.0), {"transfer": 0.5, "source": 0.5, "target": 0.5}, {"a": 3.9, "b": 0.5}, 2, "others"),
        (Moved(1, 2.0, processes=2), {"transfer": 1.9, "source": 1.0, "target": 1.0}, {"a": 2.0}, 7.7, "transfer"),
        (Moved(1, 2.0, cache_full=0.95), {"transfer": 0.2, "target": 0.2}, {"a": 1.0}, 1, "target"),
        (Moved(1, 2.0, cache_full=0.10), {"transfer": 0.2, "target": 0.2}, {"a": 1.0}, 1, "source"),
        (Moved(1, 2.0), {"transfer": 0.2, "target": 0.2}, {"a": 1.0}, 1, "servers"),
    ],
)
def test_who_was_the_bottleneck(
    moved: Moved, cores: dict[str, float], busy: dict[str, float], cpu_s: float, who: str
) -> None:
    found = bottleneck(load_of(moved, *used(cores, busy), cpu_s=cpu_s), surveyed(same=False), PLACES)
    assert found["who"] == who, found


def test_on_one_machine_the_largest_user_is_named() -> None:
    parts = used({"transfer": 0.5, "source": 2.5, "target": 0.9}, {"a": 3.9})
    found = bottleneck(load_of(Moved(1, 2.0), *parts, cpu_s=2), surveyed(same=True), PLACES)
    assert (found["who"], found["why"]) == ("source", "3.9 of 4 cores are in use; source uses 2.5 of them")


# -- the probe -------------------------------------------------------------------------------------------------------


def test_the_probe_sums_over_the_group_that_a_pid_file_names(tmp_path: Path) -> None:
    # Two processes of one group: one works, then both wait.
    work = "import os\nx = 0\nwhile x < 3_000_000: x += 1\nif os.fork(): print(x, flush=True)\nos.read(0, 1)"
    job = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           start_new_session=True)  # fmt: skip
    assert job.stdout is not None
    assert job.stdout.readline() == "3000000\n"
    (tmp_path / "transfer-1").mkdir()
    (tmp_path / "transfer-1" / "pid").write_text(json.dumps({"group": job.pid}))
    (tmp_path / "transfer-2").mkdir()
    (tmp_path / "transfer-2" / "pid").write_text("")
    runner, program = (remote_program("probes", name) for name in ("run_probe.py", "process_probe.py"))
    out = tmp_path / "samples"
    jobs = {"transfer": f"{tmp_path}/transfer-*/pid", "source": f"{tmp_path}/nothing-*/pid"}
    words = [sys.executable, str(runner), str(out), "0.05", str(program), json.dumps({"jobs": jobs})]
    probe = subprocess.Popen(words)
    while not out.exists() or len(out.read_text().splitlines()) < 3:
        assert probe.poll() is None
    probe.terminate()
    assert probe.wait(20) == 0
    os.killpg(job.pid, 9)
    job.communicate()
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    last = samples[-1]["v"]
    assert last["cpu.transfer"] > 0
    assert last["rss.transfer"] > 1e6
    assert (last["cpu.source"], last["rss.source"]) == (0, 0)
    assert (last["stopped.transfer"], last["stopped.source"]) == (0, 0)
    frame = to_series(samples, "client", "process", read(program, PROCESS, gives=["jobs"]).metrics)
    assert set(frame[frame.metric == "cpu.transfer"].unit) == {"cores"}
    assert set(frame[frame.metric == "rss.transfer"].unit) == {"B"}


# -- bench ------------------------------------------------------------------------------------------------------------


def test_ratios_of_pairs_by_hand() -> None:
    def summary(rate: float, cpu: float) -> transfer_bench.Summary:
        return {"wall_qps": Quantity(value=rate, unit="1/s"), "cpu_s_per_million": Quantity(value=cpu, unit="s")}

    pairs = [(summary(200, 10), summary(100, 20)), (summary(800, 20), summary(100, 40))]
    found = transfer_bench.compared(pairs)
    assert found["rate_ratio"]["ratio"] == pytest.approx(4)  # the geometric mean of 2 and 8
    assert found["cpu_ratio"] == pytest.approx({"ratio": 0.5, "low": 0.5, "high": 0.5})
    assert found["cpu_s_per_million"]["mongodump"]["value"] == 30


def test_the_levels_of_the_peer_are_not_those_of_a_published_table(report: published.Published) -> None:
    assert engines.PEER not in engines.KNOBS
    assert transfer_kind.PEER_TABLE not in report.tables
