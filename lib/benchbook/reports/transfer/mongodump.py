"""The peer of our transfer: mongodump and mongorestore joined by a pipe, on the same servers."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from benchbook.errors import OutputNotParseable
from mongo_transfer.settings import MongoEndpoint

_DUMPED = re.compile(r"done dumping (?P<namespace>\S+) \((?P<documents>\d+) documents?\)")
_RESTORED = re.compile(
    r"finished restoring (?P<namespace>\S+) \((?P<documents>\d+) documents?, (?P<failures>\d+) failures?\)"
)
_TOTAL = re.compile(r"(?P<documents>\d+) document\(s\) restored successfully\. (?P<failures>\d+) document\(s\) failed")


@dataclass(frozen=True)
class Tools:
    """Where the two programs are."""

    mongodump: Path
    mongorestore: Path


@dataclass(frozen=True)
class PeerResult:
    """Documents that mongodump read and mongorestore wrote, by namespace, and those that it could not write."""

    dumped: dict[str, int]
    restored: dict[str, int]
    documents: int
    failures: int


def command(
    tools: Tools,
    source: MongoEndpoint,
    target: MongoEndpoint,
    *,
    database: str,
    parallel_collections: int,
    batch_size: int,
    configs: tuple[Path | None, Path | None] = (None, None),
) -> list[str]:
    """The pipeline as an argv: bash, so that a failure of either program is the pipeline's.

    A password goes into a file of one line, `password: ...`; `configs` names those of source and target. The tools read
    it by --config, and it is in no list of processes.
    """
    dump = [
        str(tools.mongodump),
        f"--uri={source.url}",
        f"--db={database}",
        f"--numParallelCollections={parallel_collections}",
        "--archive",
    ]
    restore = [
        str(tools.mongorestore),
        f"--uri={target.url}",
        f"--nsInclude={database}.*",
        f"--numParallelCollections={parallel_collections}",
        "--numInsertionWorkersPerCollection=1",
        f"--batchSize={batch_size}",
        "--archive",
    ]
    halves = [argv + _config(file) for argv, file in zip((dump, restore), configs, strict=True)]
    return ["bash", "-c", f"set -o pipefail; {' | '.join(map(shlex.join, halves))}"]


def _config(file: Path | None) -> list[str]:
    return [f"--config={file}"] if file else []


def parse(output: str) -> PeerResult:
    """The counts in what both programs print on standard error. Raises OutputNotParseable if the end is missing."""
    total = _TOTAL.search(output)
    if total is None:
        raise OutputNotParseable(
            f"mongorestore printed no total: {' | '.join(output.splitlines()[-3:]) or 'no output'}"
        )
    return PeerResult(
        dumped={found["namespace"]: int(found["documents"]) for found in _DUMPED.finditer(output)},
        restored={found["namespace"]: int(found["documents"]) for found in _RESTORED.finditer(output)},
        documents=int(total["documents"]),
        failures=int(total["failures"]),
    )
