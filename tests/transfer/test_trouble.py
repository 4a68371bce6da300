"""What goes wrong: each ends with one paragraph, the right exit status, and the source as it was."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchbook import paths
from mongo_transfer import catalog
from mongo_transfer.engine import Sample, transfer
from mongo_transfer.proof import digest, prove
from mongo_transfer.settings import Settings

from .conftest import NET, SECONDS, Command, Server, fill, numbered
from .relay import Relay, relay

pytestmark = pytest.mark.real
SLOWLY = ("--cache-bucket-size", "1", "--cache-bucket-num", "1", "--batch-size", "20")
# Bytes towards the target: of 8,000 documents of 140 bytes, some hundreds.
IN_MID_COPY = 100_000


def arrived(server: Server, database: str, collection: str = "c") -> int:
    with server.client() as client:
        if collection not in client[database].list_collection_names():
            return 0
        return catalog.documents(client, database, collection)


def refused(command: Command, status: int) -> str:
    """The one paragraph that the command ends with."""
    got, _, err = command.end()
    assert got == status, err
    assert "Traceback" not in err
    return err.strip().splitlines()[-1]


@pytest.mark.parametrize("host", [f"{NET}.11", f"{NET}.11:27017/?directConnection=true"], ids=["bare", "with options"])
def test_source_and_target_by_the_same_address(source: Server, run: Callable[..., Command], host: str) -> None:
    text = refused(run("--target-url", f"mongodb://{host}"), 2)
    assert "are the same server" in text
    with source.client() as client:
        assert "benchbook_probe" not in client.list_database_names()


def test_source_and_target_by_an_alias(source: Server, run: Callable[..., Command]) -> None:
    before = digest(source.endpoint, databases=".+")
    with relay(f"{NET}.19", source):
        text = refused(run("--target-url", f"mongodb://{NET}.19:27017/"), 2)
    assert f"source {NET}.11:27017 and target {NET}.19:27017 are the same server" in text
    assert digest(source.endpoint, databases=".+") == before


def test_an_unreachable_server(run: Callable[..., Command]) -> None:
    text = refused(run("--source-url", f"mongodb://{NET}.99:27017/", "--connect-seconds", "0.3"), 2)
    assert text.startswith(f"transfer: {NET}.99:27017: cannot be reached")


def test_ctrl_c_before_anything_has_begun(run: Callable[..., Command]) -> None:
    with socket.create_server((f"{NET}.18", 27017)) as silent:
        command = run("--target-url", f"mongodb://{NET}.18:27017/", "--connect-seconds", "60")
        silent.accept()
        workers = command.workers()
        command.process.send_signal(signal.SIGINT)
        assert command.end()[0] == 130
        assert not psutil.wait_procs(workers, SECONDS)[1]


def test_a_failed_authentication(run: Callable[..., Command]) -> None:
    url = f"mongodb://me@{NET}.12:27017/"
    text = refused(run("--target-url", url, BENCHBOOK_TARGET_PASSWORD="geheim"), 2)
    assert text.startswith(f"transfer: {NET}.12:27017: authentication failed")
    assert "geheim" not in text


def hook(signal: str) -> str:
    """Python that sends a signal to each worker process as it begins."""
    return (
        f"import os, signal, sys\nif '--multiprocessing-fork' in sys.orig_argv: os.kill(os.getpid(), signal.{signal})\n"
    )


def test_a_worker_that_is_ended_as_it_begins_says_nothing(run: Callable[..., Command], tmp_path: Path) -> None:
    """It has its parent's signal mask until it set its own handler: no stack, no KeyboardInterrupt."""
    (tmp_path / "sitecustomize.py").write_text(hook("SIGTERM"))
    search = f"{tmp_path}:{paths.home() / 'lib'}"
    _, _, err = run("--target-url", f"mongodb://{NET}.99:27017/", "--connect-seconds", "0.3", PYTHONPATH=search).end()
    assert "KeyboardInterrupt" not in err
    assert err.strip().splitlines()[-1].startswith(f"transfer: {NET}.99:27017: cannot be reached")


def test_a_worker_that_is_killed_as_it_begins_is_told(
    source: Server, database: str, run: Callable[..., Command], tmp_path: Path
) -> None:
    """What was sent to it broke the pipe: the command ended with status 1, without a word and without its report."""
    with source.client() as client:
        fill(client, database, "c", numbered(10))
    (tmp_path / "sitecustomize.py").write_text(hook("SIGKILL"))
    got, out, err = run("--databases", database, PYTHONPATH=f"{tmp_path}:{paths.home() / 'lib'}").end()
    assert got == 1
    assert err.strip().splitlines()[-1] == "transfer: failed: a worker process ended with status -9"
    assert json.loads(out)["status"] == "failed"


def test_a_password_file_that_is_not_there(run: Callable[..., Command], tmp_path: Path) -> None:
    assert "the file: does not exist" in refused(run("--source-password-file", str(tmp_path / "none")), 2)


def test_nothing_to_copy(run: Callable[..., Command]) -> None:
    assert "no collection matches databases='none'" in refused(run("--databases", "none"), 2)


def test_a_document_over_the_limit(source: Server, target: Server, database: str, run: Callable[..., Command]) -> None:
    # FerretDB stores longer documents than it says. This one: 4 + 1 for the document, 1 + 4 + 4 + 3 for the _id,
    # 1 + 2 + 4 + 1 + 2**24 for the binary.
    with source.client() as client:
        fill(client, database, "c", numbered(100))
        client[database].command("insert", "long", documents=[{"_id": "it", "b": b"x" * 2**24}])
    text = refused(run("--databases", database), 1)
    assert f"{database}.long: the document with _id 'it' has 16777241 bytes; the target takes 16777216" in text
    assert arrived(target, database, "long") == 0


@pytest.mark.parametrize(
    ("of_source", "of_target", "said"),
    [
        ({}, {"capped": True, "size": 4096, "max": 5}, "(capped differs)"),
        ({"capped": True, "size": 100_000}, {}, "(capped differs)"),
        ({"capped": True, "size": 90_000, "max": 50}, {"capped": True, "size": 90_000, "max": 5}, "(its size differs)"),
    ],
    ids=["capped", "plain", "smaller"],
)
def test_another_kind_of_collection_on_the_target(
    of_source: dict[str, Any],
    of_target: dict[str, Any],
    said: str,
    source: Server,
    target: Server,
    database: str,
    run: Callable[..., Command],
) -> None:
    """It loses documents that were written to it, or their order: that is no copy."""
    with source.client() as client, target.client() as copy:
        client[database].create_collection("c", **of_source)
        copy[database].create_collection("c", **of_target)
        fill(client, database, "c", numbered(20))
    text = refused(run("--databases", database), 1)
    assert f"{database}.c: the target has another collection of this name {said}. Fix: drop it there" in text
    assert arrived(target, database) == 0


def test_a_conflict_on_a_unique_index(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    with source.client() as client, target.client() as copy:
        fill(client, database, "c", numbered(50))
        copy[database]["c"].create_index("n", unique=True)
        copy[database]["c"].insert_one({"_id": "stranger", "n": 7})
        before = digest(source.endpoint, databases=database)
        got, out, err = run("--databases", database).end()
        assert got == 1
        assert "the document with _id ObjectId('000000000000000000000007') conflicts with another one" in err
        assert copy[database]["c"].find_one({"_id": "stranger"}) == {"_id": "stranger", "n": 7}
        report = json.loads(out)
        assert report["status"] == "failed"
    assert digest(source.endpoint, databases=database) == before


def test_a_unique_index_that_the_copy_cannot_have(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    with source.client() as client, target.client() as copy:
        fill(client, database, "c", numbered(50))
        client[database]["c"].create_index("n", unique=True)
        copy[database]["c"].insert_one({"_id": "stranger", "n": 7})
    text = refused(run("--databases", database), 1)
    assert f"{database}.c: unique index n_1 conflicts with documents on the target" in text


def test_a_collection_dropped_in_mid_copy(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(8000))
        with relay(f"{NET}.19", target, budget=IN_MID_COPY) as held:
            command = run("--databases", database, *SLOWLY, between=(source, held))
            held.wait()
            client[database].drop_collection("c")
            held.release()
            got, out, err = command.end()
    assert got == 1, err
    assert f"{database}.c: dropped or recreated on the source in mid-copy" in err
    assert json.loads(out)["documents"] == arrived(target, database)


def test_ctrl_c_stops_all_processes_and_reports_what_was_written(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    with source.client() as client:
        for collection in "abc":
            fill(client, database, collection, numbered(5000))
    with relay(f"{NET}.19", target, budget=IN_MID_COPY) as held:
        command = run("--databases", database, *SLOWLY, "--cache-bucket-num", "2", between=(source, held))
        held.wait()
        workers = command.workers()
        assert len(workers) >= 1
        command.process.send_signal(signal.SIGINT)
        held.release()
        got, out, err = command.end()
    assert got == 130, err
    assert "Traceback" not in err
    report = json.loads(out)
    assert report["status"] == "interrupted"
    assert report["documents"] == sum(arrived(target, database, collection) for collection in "abc")
    assert not psutil.wait_procs(workers, SECONDS)[1]


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (psutil.Process.kill, "a worker process ended with status -9"),
        # By somebody who ends processes where memory is short, one by one.
        (psutil.Process.terminate, "a worker process was told to end (SIGTERM) before its work was done"),
    ],
    ids=["killed", "told"],
)
def test_a_worker_that_somebody_ends_fails_the_transfer(
    end: Callable[[psutil.Process], None],
    said: str,
    source: Server,
    target: Server,
    database: str,
    run: Callable[..., Command],
) -> None:
    """What it was to copy is missing."""
    with source.client() as client:
        fill(client, database, "c", numbered(8000))
    with relay(f"{NET}.19", target, budget=IN_MID_COPY) as held:
        command = run("--databases", database, *SLOWLY, between=(source, held))
        held.wait()
        end(command.workers()[0])
        held.release()
        assert said in refused(command, 1)
    assert arrived(target, database, "c") < 8000


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        # What a test that failed has left there holds it.
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs a mount, and a mount needs root")
def test_a_full_disk_of_the_target(
    source: Server, database: str, run: Callable[..., Command], serve: Callable[[str, Path], Server], tmp_path: Path
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(20_000))
    before = digest(source.endpoint, databases=database)
    with small_disk(tmp_path / "disk", "3m") as folder:
        target = serve(f"{NET}.14", folder)
        got, out, err = run("--databases", database, between=(source, target)).end()
        target.kill()
    assert got == 1
    assert "its disk is full" in err
    report = json.loads(out)
    assert 0 < report["documents"] < 20_000
    assert digest(source.endpoint, databases=database) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs a mount, and a mount needs root")
def test_a_target_whose_disk_is_full_from_the_start_is_no_defect_of_the_kit(
    source: Server, database: str, run: Callable[..., Command], serve: Callable[[str, Path], Server], tmp_path: Path
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(10))
    with small_disk(tmp_path / "disk", "1m") as folder:
        target = serve(f"{NET}.14", folder)
        with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        text = refused(run("--databases", database, between=(source, target)), 2)
        target.kill()
    assert text.startswith(f"transfer: {NET}.14:27017: ")
    assert "Fix: mend that server" in text


def test_a_full_disk_of_the_samples_leaves_a_report(source: Server, database: str, run: Callable[..., Command]) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(10))
    got, out, err = run("--databases", database, "--samples", "/dev/full").end()
    assert got == 1
    said = "/dev/full cannot be written: No space left on device. Fix: free some space"
    assert err.strip().splitlines()[-1].startswith(f"transfer: failed: {said}")
    assert json.loads(out)["status"] == "failed"


def test_a_full_disk_of_the_report_is_no_defect_of_the_kit(
    source: Server, database: str, run: Callable[..., Command]
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(10))
    got, out, err = run("--databases", database, "--report", "/dev/full").end()
    assert got == 1
    assert err.strip().splitlines()[-1].startswith("transfer: /dev/full cannot be written: No space left on device")
    assert json.loads(out)["status"] == "complete"


def test_a_target_that_is_lost_before_its_indexes_leaves_a_report(
    source: Server, target: Server, database: str
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(300))
        client[database]["c"].create_index("n")
    with relay(f"{NET}.19", target) as way:
        patience = {"retry_seconds": 0.5, "connect_seconds": 2.0}
        report = transfer(Settings(source.endpoint, way.endpoint, databases=database, **patience), (Cut(way, 300),))
    assert (report.status, report.totals.inserted) == ("failed", 300)
    assert str(report.error).startswith(f"a server is lost, or refuses: {NET}.19:27017: ")


@dataclass
class Cut:
    """Cuts the way to a server once so many documents are there, which is before the indexes are."""

    way: Relay
    documents: int

    def start(self, documents: int) -> None:
        assert documents == self.documents

    def update(self, sample: Sample) -> None:
        if sample.documents == self.documents:
            self.way.close()


def test_a_server_that_is_lost_while_it_is_read_back_is_no_defect_of_the_kit(source: Server, database: str) -> None:
    with source.client() as client:
        for number in range(40):
            fill(client, database, f"c{number}", numbered(1))
    # A greeting has half a kilobyte, a question a hundred bytes and more.
    with relay(f"{NET}.19", source, budget=3_000) as held:
        asked = ["digest", "--url", held.endpoint.url, "--database", database]
        tool = [sys.executable, "-m", "mongo_transfer.tools", *asked]
        env = {**os.environ, "PYTHONPATH": str(paths.home() / "lib")}
        process = subprocess.Popen(tool, stderr=subprocess.PIPE, text=True, env=env)
        held.wait()
        held.close()
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert err.strip().splitlines()[-1].startswith(f"tools: {NET}.19:27017")
    assert "defect of the kit" not in err


def test_a_dead_target_is_given_up_after_a_bounded_time(
    source: Server, database: str, run: Callable[..., Command], serve: Callable[[str, Path], Server], tmp_path: Path
) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(8000))
    target = serve(f"{NET}.15", tmp_path / "target")
    with relay(f"{NET}.19", target, budget=IN_MID_COPY) as held:
        command = run("--databases", database, *SLOWLY, "--retry-seconds", "1", between=(source, held))
        held.wait()
        target.kill()
        held.release()
        got, out, err = command.end()
    assert got == 1
    assert "lost for 1 s" in err
    assert json.loads(out)["documents"] > 0


def test_the_server_ends_cleanly_and_refuses_a_busy_address(
    programs: Path, serve: Callable[[str, Path], Server], tmp_path: Path
) -> None:
    server = serve(f"{NET}.16", tmp_path / "one")
    command = [str(programs / "ferret-server"), "--listen", f"{NET}.16:27017", "--dir", str(tmp_path / "two")]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "address already in use" in second.stderr
    with server.client() as client:
        fill(client, "kept", "c", numbered(10))
    assert server.stop() == 0
    server.start()
    assert arrived(server, "kept") == 10
    assert prove(server.endpoint, server.endpoint, databases="kept")
