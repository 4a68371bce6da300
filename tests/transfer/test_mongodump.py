"""mongodump | mongorestore: its command line, its output, and a real run."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from benchbook.errors import OutputNotParseable
from benchbook.reports.transfer import engines
from mongo_transfer import dataset
from mongo_transfer.dataset import DocumentSet
from mongo_transfer.proof import prove
from mongo_transfer.settings import MongoEndpoint

from .conftest import Server

# What version 100.x printed for 10 collections of 10,000 documents, copied by 4 at a time.
OUTPUT = (Path(__file__).parent / "mongodump_mongorestore.txt").read_text()
TOOLS = engines.MongoTools(Path("/opt/a b/mongodump"), Path("/opt/mongorestore"))


def test_the_pipeline_is_quoted_and_fails_with_either_half() -> None:
    source, target = MongoEndpoint("mongodb://127.0.82.1/?a=1&b=2"), MongoEndpoint("mongodb://127.0.82.2/")
    command = engines.mongodump_command(TOOLS, source, target, database="ddt", parallel_collections=3, batch_size=500)
    assert command[:2] == ["bash", "-c"]
    words = shlex.split(command[2])
    assert words[:3] == ["set", "-o", "pipefail;"]
    assert "'/opt/a b/mongodump' '--uri=mongodb://127.0.82.1/?a=1&b=2'" in command[2]
    assert words.count("|") == 1
    assert words.count("--numParallelCollections=3") == 2
    assert "--batchSize=500" in words
    assert "--nsInclude=ddt.*" in words


def test_passwords_are_in_files() -> None:
    here = MongoEndpoint("mongodb://me@127.0.82.1/", "geheim")
    sizes = {"parallel_collections": 4, "batch_size": 1000}
    command = engines.mongodump_command(TOOLS, here, here, database="ddt", configs=(Path("/run/s.yaml"), None), **sizes)
    assert "geheim" not in command[2]
    assert command[2].count("--config=/run/s.yaml") == 1


def test_real_output_has_counts_by_collection() -> None:
    result = engines.parse_mongodump(OUTPUT)
    assert (result.documents, result.failures) == (100_000, 0)
    assert result.dumped == result.restored == {f"ddt.c{n:02d}": 10_000 for n in range(10)}


def test_failures_are_counted() -> None:
    result = engines.parse_mongodump("x\t7 document(s) restored successfully. 3 document(s) failed to restore.\n")
    assert (result.documents, result.failures) == (7, 3)


def test_output_without_its_end_is_not_a_count_of_zero() -> None:
    with pytest.raises(OutputNotParseable, match="printed no total"):
        engines.parse_mongodump("\n".join(OUTPUT.splitlines()[:-1]))


@pytest.mark.real
def test_the_pipeline_copies(programs: Path, source: Server, target: Server, database: str) -> None:
    dataset.load(source.endpoint, DocumentSet(5, 500, database))
    tools = engines.MongoTools(programs / "mongodump", programs / "mongorestore")
    command = engines.mongodump_command(
        tools, source.endpoint, target.endpoint, database=database, parallel_collections=2, batch_size=500
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert engines.parse_mongodump(done.stderr).documents == 500
    prove(source.endpoint, target.endpoint, databases=database)
