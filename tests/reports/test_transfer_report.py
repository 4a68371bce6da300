"""The DDT report's parts, by hand: cells, commands, figures of a trial, the probe."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from kit import TESTS
from records import record

from benchbook import published
from benchbook.analysis import summary
from benchbook.analysis.trials import cells, figures_of, of_records
from benchbook.campaign import design
from benchbook.campaign.record import Quantity, Record
from benchbook.campaign.scaled_levels import scaled, trials_as_published
from benchbook.errors import BadInput, OutputNotParseable, TrialFailed, WorkloadFailed
from benchbook.hosts.agent import Ended, remote_program
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import EndpointSettings, load_inventory
from benchbook.hosts.session import Session
from benchbook.probes.probe_file import PROCESS, read
from benchbook.probes.samples import COLUMNS, to_series
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest
from benchbook.reports.transfer import client_python, transfer_kind
from benchbook.reports.transfer.engines import CopyCounts, Ddt, Mongodump, Pymongo
from benchbook.reports.transfer.transfer_kind import TransferParameters
from benchbook.reports.transfer.transfer_summary import (
    CopyRun,
    overlapping_mean,
    rate_series,
    summarise,
    unsure,
)
from benchbook.systems import mongo
from benchbook.workloads.base import check_end
from mongo_transfer.settings import MongoEndpoint

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
def client() -> Host:
    """The client host of the lab; nothing is sent to it."""
    return Host(load_inventory("lab_ddt"), "client")


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


def test_parameters_narrow_the_combinations(report: published.Published) -> None:
    cells = transfer_kind.TransferKind().cells(report, asked(engines=["pymongo"], caches=[32, 64], threads=["8/24"]))
    assert [cell.table for cell in cells] == ["cache_64"]
    # Beside a known one an unknown one was left out without a word.
    with pytest.raises(BadInput, match=r"threads: it is none.*\['1/1'\].*threads are 5/15, 6/20, 6/24, 8/24"):
        transfer_kind.TransferKind().cells(report, asked(threads=["5/15", "1/1"]))
    with pytest.raises(BadInput, match=r"caches: it is none.*\[33\].*caches are 32, 48, 64"):
        transfer_kind.TransferKind().cells(report, asked(caches=[32, 33]))


def test_fewer_documents_than_collections_are_refused_before_a_host_is_touched(report: published.Published) -> None:
    kind, where = transfer_kind.TransferKind(), load_inventory("lab_ddt")
    with pytest.raises(BadInput, match=r"documents: too few to copy \(got 9\)"):
        RunRequest(kind, report, asked(documents=9), load_profile("smoke"), where).experiment()


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
    ends = {
        side: {"host": "127.0.90.9", "port": 27017, "tls": True, "tls_ca": "ca.pem"} for side in ("source", "target")
    }
    other = inventory.model_copy(
        update={"endpoints": {side: EndpointSettings.model_validate(end) for side, end in ends.items()}}
    )
    with pytest.raises(BadInput, match=r"endpoints\.source\.tls_ca: a MongoDB server is believed"):
        mongo.check(other, "endpoint")
    with pytest.raises(BadInput, match="source and target"):
        mongo.check(inventory, "endpoint")


# -- commands --------------------------------------------------------------------------------------------------------


def test_our_transfer_is_given_every_knob_and_no_password(client: Host) -> None:
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


def test_ddt_gets_its_properties_as_a_secret_file(client: Host) -> None:
    engine = Ddt(client, "/opt/execute.jar", 256)
    engine.java = "/usr/bin/java"
    command = engine.command(LEVELS, SOURCE, TARGET)
    jvm = ["/usr/bin/java", "-Xms256m", "-Xmx256m", "-Duser.timezone=UTC"]
    assert command.argv == [*jvm, "-jar", "/opt/execute.jar", "{job}/DDT.properties"]
    # It writes ../logs: that is in the folder of its job then, and goes with it.
    assert command.cwd == "{job}/run"
    text = command.secrets["DDT.properties"]
    for line in ("sourceThreadNum=5", "targetThreadNum=15", "bucketSize=32", "bucketNum=33", "batchSize=128"):
        assert f"{line}\n" in text


def test_the_peer_is_one_pipeline_that_fails_with_either_half_and_reads_its_password_from_a_file(client: Host) -> None:
    engine = Mongodump(client)
    engine.dump, engine.restore = "/opt/a b/mongodump", "/opt/mongorestore"
    command = engine.command(transfer_kind.PEER_LEVELS, SOURCE, TARGET)
    assert command.argv[:2] == ["bash", "-c"]
    words = shlex.split(str(command.argv[2]))
    assert words[:5] == ["set", "-o", "pipefail;", "/opt/a b/mongodump", f"--uri={SOURCE.url}"]
    assert words.count("|") == 1
    assert words.count("--numParallelCollections=4") == words.count("--archive") == 2
    assert {"--db=ddt", "--nsInclude=ddt.*", "--batchSize=1000"} <= {*words}
    assert [word for word in words if "config" in word] == ["--config={job}/source_password.yaml"]
    assert command.secrets == {"source_password.yaml": 'password: "pass word"\n'}
    assert "pass word" not in str(command.argv)


def test_what_the_peer_prints_is_counted_by_collection(client: Host) -> None:
    # What version 100.x printed for 10 collections of 10,000 documents, copied by 4 at a time.
    printed = (TESTS / "transfer" / "mongodump_mongorestore.txt").read_text()
    moved, each = Mongodump(client).read("", printed), {f"ddt.c{n:02d}": 10_000 for n in range(10)}
    assert (moved.documents, moved.about) == (100_000, {"dumped": each, "restored": each})
    with pytest.raises(OutputNotParseable, match="printed no total"):
        Mongodump(client).read("", "\n".join(printed.splitlines()[:-1]))
    with pytest.raises(WorkloadFailed, match="could not write 3 documents"):
        Mongodump(client).read("", "x\t7 document(s) restored successfully. 3 document(s) failed to restore.\n")


def test_a_copy_is_proved_by_what_both_sides_hold_now(client: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(_: Session, __: Host, name: str, server: MongoEndpoint, within_s: float) -> dict[str, Any]:
        assert name == "digest"
        return {"collections": [{"namespace": "ddt.c00", "documents": 15, "hash": held[server.url]}]}

    monkeypatch.setattr(client_python, "tool", tool)
    sides = [cast(mongo.MongoServer, SimpleNamespace(endpoint=end)) for end in (SOURCE, TARGET)]
    prove = partial(client_python.prove_copy, cast(Session, None), client, *sides, output="what the engine printed ")
    held = {SOURCE.url: "aa", TARGET.url: "aa"}
    whole = {"namespace": "ddt.c00", "documents": 15, "hash": "aa"}
    collections = [{"namespace": "ddt.c00", "source": whole, "target": whole}]
    assert prove(documents=15) == {"agrees": True, "documents": 15, "collections": collections}
    with pytest.raises(TrialFailed, match=r"\(in number\); the source holds 15 of 16"):
        prove(documents=16)
    held[TARGET.url] = "bb"
    with pytest.raises(TrialFailed, match=r"after the transfer \(ddt\.c00\); the source holds 15 of 15") as found:
        prove(documents=15)
    assert found.value.output.startswith("what the engine printed ")


def test_what_our_transfer_says_is_read(client: Host) -> None:
    said = {"status": "complete", "documents": 200, "began": 1000.5, "seconds": 2.0, "most_documents_in_flight": 50,
            "error": None, "knobs": {"documents_in_flight_bound": 100, "processes": 2}}  # fmt: skip
    moved = Pymongo(client).read(json.dumps(said), "")
    assert (moved.documents, moved.began, moved.ended) == (200, 1000.5, 1002.5)
    assert (moved.cache_full, moved.about) == (0.5, said)
    with pytest.raises(WorkloadFailed, match="disk is full"):
        Pymongo(client).read(json.dumps({**said, "status": "failed", "error": "disk is full"}), "")
    with pytest.raises(OutputNotParseable, match="Killed"):
        Pymongo(client).read("", "Killed")


def real_log(name: str) -> str:
    return (TESTS / "transfer" / "ddt_logs" / f"{name}.log").read_text()


def test_ddt_succeeds_with_status_1_its_end_and_all_documents(client: Host) -> None:
    engine = Ddt(client, "/opt/execute.jar", 256)
    moved = engine.read(real_log("success"), "")
    assert moved.documents == 60_000
    assert (moved.began, moved.ended) == (1795312687.584, 1795312714.513)  # 01:58:07.584 and 01:58:34.513 UTC
    moved.refuse_part(60_000, "ddt on client")
    for status in (0, 1):
        check_end(Ended("exited", status, None, 0, 1), "", "ddt", lambda _: None, engine.good_statuses)
    with pytest.raises(WorkloadFailed, match="ended with status 2"):
        check_end(Ended("exited", 2, None, 0, 1), "", "ddt", lambda _: None, engine.good_statuses)
    with pytest.raises(WorkloadFailed, match="ended with status 1"):
        check_end(Ended("exited", 1, None, 0, 1), "", "mongodump", lambda _: None, Mongodump.good_statuses)


def test_ddt_that_ended_its_task_without_a_document_has_failed_by_its_first_cause(client: Host) -> None:
    moved = Ddt(client, "/opt/execute.jar", 256).read(real_log("target-unreachable"), "")
    first = r"^ddt on client wrote 0 of 3,000 documents: benchbook_full_target failed to check data source connectivity"
    with pytest.raises(WorkloadFailed, match=first):
        moved.refuse_part(3000, "ddt on client")


def test_ddt_without_its_end_has_failed_by_its_first_cause_or_its_last_words(client: Host) -> None:
    engine = Ddt(client, "/opt/execute.jar", 256)
    with pytest.raises(WorkloadFailed, match=r"without `end execute task`: .* execution error :Timed out"):
        engine.read(real_log("source-killed-hangs"), "")
    with pytest.raises(WorkloadFailed, match=r"`end execute task`: Error: Unable to access jarfile /opt/execute.jar"):
        engine.read("", "Error: Unable to access jarfile /opt/execute.jar\n")


def test_the_jar_is_named_by_its_hash_and_its_ways_are_told(client: Host) -> None:
    engine = Ddt(client, "/opt/execute-1.1.0.jar", 256)
    engine.digest = "1e7f486a05f1" + "0" * 52
    about = engine.about()
    assert about.version == "execute-1.1.0.jar (sha256 1e7f486a05f1)"
    assert about.config == {"jar_sha256": engine.digest}
    assert "a batch holds 2 documents more than its batchSize" in about.notes


def test_levels_that_ddt_would_replace_are_refused_before_a_host_is_touched(report: published.Published) -> None:
    kind, smoke = transfer_kind.TransferKind(), load_profile("smoke")
    with_ddt = asked(ddt_jar="/x.jar")
    assert kind.scaled(with_ddt, smoke) == (), "DDT takes no fewer threads than 2 and 4"
    assert RunRequest(kind, report, with_ddt, smoke, load_inventory("lab_ddt")).asked()["levels"] == "published"
    cells = kind.cells(report, with_ddt)
    kind.check_cells(cells)
    assert kind.scaled(asked(ddt_jar="/x.jar", levels="scaled"), smoke) == transfer_kind.SCALED
    found, _ = scaled(cells, transfer_kind.SCALED, cores_here=2, cores_published=40)
    with pytest.raises(BadInput, match="DDT takes 2 to 100"):
        kind.check_cells(found)
    kind.check_cells([cell for cell in found if cell.system != "ddt"])
    many = cells[11].model_copy(update={"levels": {**cells[11].levels, "cache_bucket_num": 101}})
    with pytest.raises(BadInput, match=r"bucketNum.*DDT takes 1 to 100"):
        kind.check_cells([many])


# -- figures of a trial ----------------------------------------------------------------------------------------------


def rows(metric: str, values: list[tuple[float, float]], source: str = "process", host: str = "a") -> pd.DataFrame:
    return pd.DataFrame([(t, host, source, metric, v, "x") for t, v in values], columns=COLUMNS)


def load_of(moved: CopyCounts, *parts: pd.DataFrame, cpu_s: float = 3.0, ended: float = 14.0) -> CopyRun:
    """A run from t = 10 to 14, in the tests below one whose copying took the last 2 s."""
    return CopyRun(moved, Ended("exited", 0, None, 10.0, ended, cpu_s), pd.concat(parts), "a")


def counts(values: list[tuple[float, float]]) -> pd.DataFrame:
    """What the probe of the target's own count writes."""
    return rows("documents", values, source="documents", host="mongo:target")


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
    found = summarise(load_of(CopyCounts(1000, 12.0, cache_full=0.25), cpu, memory, servers))
    plain = {name: quantity.value for name, quantity in found.items()}
    assert plain["qps"] == 500
    assert plain["wall_qps"] == 250
    assert plain["cpu_percent"] == pytest.approx(50)
    assert (plain["memory_mb"], plain["peak_memory_mb"]) == (20, 30)
    assert plain["cpu_s_per_million"] == pytest.approx(3000)
    assert (plain["source_cores"], plain["target_cores"]) == (0, 0.75)
    assert plain["cache_full"] == 0.25
    assert (plain["prepare_s"], plain["idle_s"]) == (2, 0)


def test_the_figures_of_a_run_that_prepares_and_idles_by_hand() -> None:
    # Started at 10, copied from 30 to 40, ended at 180: as DDT does, it idles for 140 s.
    known = counts([(29.0, 0), (31.0, 50), (33.0, 250), (39.0, 800), (40.0, 1000), (41.0, 1000)])
    cpu = rows("cpu.transfer", [(30.0, 0.5), (40.0, 0.9), (180.0, 0.05)])
    memory = rows("rss.transfer", [(20.0, 9e9), (35.0, 10e6), (40.0, 30e6), (100.0, 9e9)])
    servers = rows("cpu.target", [(30.0, 0.0), (40.0, 1.5), (180.0, 0.0)])
    run = load_of(CopyCounts(1000, 30.0, 44.0), known, cpu, memory, servers, cpu_s=26.0, ended=180.0)
    plain = {name: quantity.value for name, quantity in summarise(run).items()}
    # Its own log says 44; the target counted them all at 40.
    assert (plain["prepare_s"], plain["total_time_s"], plain["idle_s"]) == (20, 10, 140)
    assert plain["qps"] == 100
    # 26 CPU seconds less 20 x 0.5 before and 140 x 0.05 after: 9 in 10 s.
    assert plain["cpu_percent"] == pytest.approx(90)
    assert (plain["memory_mb"], plain["peak_memory_mb"]) == (20, 30)
    assert plain["target_cores"] == pytest.approx(1.5)
    series = rate_series(run)
    rates = series[series.metric == "documents"]
    assert list(rates.t) == [31, 33, 39, 40]
    assert list(rates.value) == pytest.approx([50, 100, 550 / 6, 200])


def test_a_real_ddt_log_and_the_servers_counts_give_the_rate_by_hand(client: Host) -> None:
    # success.log: its first reader at 01:58:07.584 = ...687.584; a count that completes 24 s later.
    moved = Ddt(client, "/opt/execute.jar", 256).read(real_log("success"), "")
    began = 1795312687.584
    known = counts([(began + 6, 2470), (began + 17, 48000), (began + 24, 60000), (began + 160, 60000)])
    run = CopyRun(moved, Ended("exited", 1, None, began - 42, began + 170, 20.0), known, "a")
    assert summarise(run)["qps"].value == pytest.approx(2500)
    # Without the probe's counts, its own lines, in steps of ten seconds: 60,000 in 26.929 s.
    run = CopyRun(moved, Ended("exited", 1, None, began - 42, began + 170, 20.0), counts([]), "a")
    assert summarise(run)["qps"].value == pytest.approx(60_000 / 26.929)


def test_a_copy_shorter_than_the_reports_averages_has_no_rate() -> None:
    said = "1,000 documents were copied in 2.0 s: too short for a rate, which takes 10 s; take more documents"
    assert unsure(load_of(CopyCounts(1000, 12.0), counts([(13.0, 200), (14.5, 1000)]))) == said
    # Its own end is exact, and the target's count comes later.
    assert unsure(load_of(CopyCounts(1000, 12.0), counts([(13.0, 200), (22.5, 1000)]), ended=22.0)) is None


def test_an_end_that_only_counts_tell_must_be_known_to_a_tenth() -> None:
    # Copied from 12 to 22 or to any time since 20.5: 1.5 of 10 s.
    rough = CopyCounts(1000, 12.0, 30.0, exact=False)
    run = load_of(rough, counts([(13.0, 200), (20.5, 900), (22.0, 1000), (23.0, 1000)]), ended=180.0)
    assert run.open_s == 1.5
    said = "1,000 documents were copied in 10.0 s, of which the target's counts leave 1.5 s open: too much for a rate"
    assert unsure(run) == said
    assert unsure(load_of(rough, counts([(13.0, 200), (21.0, 900), (22.0, 1000)]), ended=180.0)) is None
    # Without a count in between, all of it is open.
    assert load_of(rough, counts([]), ended=180.0).open_s == 18


def test_the_published_columns_are_among_the_figures(report: published.Published) -> None:
    found = summarise(load_of(CopyCounts(1000), rows("rss.transfer", [(11.0, 1e6)])))
    assert set(report.table("cache_32").metrics) <= set(found)
    assert found["total_time_s"].value == 4


def test_the_page_names_copies_too_short_for_a_rate_and_older_records_say_nothing() -> None:
    said = "900 documents were copied in 2.0 s: too short for a rate, which takes 10 s; take more documents"
    short = record(system="ddt", proof={"unsure": said})
    fine, older = record(proof={"unsure": None}), record()
    assert summary.unsure([fine, older]) == ""
    sentence = f"The rates of 1 of 3 trials are not to be relied on. For example, ddt: {said}."
    assert summary.unsure([fine, short, older]) == sentence


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


# -- engines side by side ---------------------------------------------------------------------------------------------


def transferred(engine: str, combination: int, repetition: int, rate: float) -> Record:
    figures = {name: Quantity(value=rate, unit=unit) for name, unit in transfer_kind.PEER_METRICS.items()}
    name = f"r{repetition}-{engine}-{combination}"
    return record(name, system=engine, levels={"n": combination}, repetition=repetition, summary=figures)


def test_the_engines_are_compared_over_repetitions_and_not_over_the_trials_of_their_combinations() -> None:
    """Combinations that do 10 and 30 in one repetition, 20 and 40 in the next: 20 and 30, two figures and not four."""
    rates = [("pymongo", 1, 1, 10.0), ("pymongo", 2, 1, 30.0), ("pymongo", 1, 2, 20.0), ("pymongo", 2, 2, 40.0),
             ("pymongo", 1, 3, 90.0), ("mongodump", 1, 1, 7.0)]  # fmt: skip
    figures = figures_of(of_records([transferred(*one) for one in rates]), ["qps"])
    found = cells(transfer_kind.over_combinations(figures)).set_index("system")[["measured", "low", "high", "n"]]
    # The third repetition lacks a combination. Student's t of one degree of freedom is 12.706, the error of the mean 5.
    assert found.loc["pymongo"].tolist() == pytest.approx([25.0, -38.531, 88.531, 2], 1e-4)
    assert found.loc["mongodump"].tolist() == pytest.approx([7.0, math.nan, math.nan, 1], nan_ok=True)


def test_a_transfer_begins_with_its_copying_and_not_so_much_later_as_its_program_idles() -> None:
    """5 s of preparing, 10 s of copying, and 20 s until the program ends."""
    spans = {"total_time_s": 10.0, "idle_s": 20.0}
    ran = record("r1", summary={name: Quantity(value=value, unit="s") for name, value in spans.items()})
    assert ran.model_copy(update={"started": 100.0, "ended": 135.0}).load_began == 105.0
