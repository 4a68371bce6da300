"""Adapter for DDT (Document Data Transfer), the tool of the `ddt_full_scale` report: a jar that the user brings.

Properties in, log out. The log's lines are those of its releases of 2023, where every ten seconds it prints

    ... mongoTask_full number of bars written:4015,time cost:31s,average write speed:129 per/s
    ... mongoTask_full the average write speed of this round (10s):12 per/s

("bars" are documents.) The last figure is not used: the program divides the documents of the round by the seconds
since its start. Rates are formed here, from the counts and the times of the lines. It also waits for two minutes and
more after the last document before it ends, so neither is its run time the time of the transfer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote_plus

from benchbook.errors import BadInput, OutputNotParseable, WorkloadFailed
from benchbook.transfer.settings import MongoEndpoint

# Limits of the program, which silently replaces what is outside of them.
_LIMITS = {"sourceThreadNum": (2, 100), "targetThreadNum": (4, 100), "createIndexThreadNum": (1, 100)}
_STAMP = r"^(?P<time>\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}) .*?"
_WRITTEN = re.compile(_STAMP + r"number of bars written:(?P<documents>\d+),time cost:(?P<seconds>\d+)s", re.MULTILINE)
_EXPECTED = re.compile(_STAMP + r"expected to transfer (?P<documents>\d+) bars of data", re.MULTILINE)
_ENDED = re.compile(_STAMP + r"end execute task", re.MULTILINE)
_ERROR = re.compile(_STAMP + r"- ERROR -- (?P<text>.+)$", re.MULTILINE)
# Logged as errors, but no harm: a division by the zero seconds or documents of its own statistics.
_HARMLESS = re.compile(r"error getting full program execution|start parameter error")


@dataclass(frozen=True)
class Levels:
    """DDT's knobs, by the names that the report gives them."""

    source_threads: int
    target_threads: int
    cache_bucket_size: int
    cache_bucket_num: int
    batch_size: int = 128
    create_index_threads: int = 2
    sync_mode: str = "all"
    full_type: str = "sync"
    work_name: str = "benchbook"


def properties(levels: Levels, source: MongoEndpoint, target: MongoEndpoint, namespaces: str) -> str:
    r"""The text of the properties file; `namespaces` is an expression over `database.collection`, as `ddt\..+`.

    It holds the passwords, if there are any: write it for its owner only. Raises BadInput where DDT would quietly use
    another value.
    """
    values: dict[str, object] = {
        "workName": levels.work_name,
        "sourceDsUrl": _url(source),
        "targetDsUrl": _url(target),
        "syncMode": levels.sync_mode,
        "fullType": levels.full_type,
        "dbTableWhite": namespaces.replace("\\", "\\\\"),
        "sourceThreadNum": levels.source_threads,
        "targetThreadNum": levels.target_threads,
        "createIndexThreadNum": levels.create_index_threads,
        "bucketSize": levels.cache_bucket_size,
        "bucketNum": levels.cache_bucket_num,
        "batchSize": levels.batch_size,
        # 2 and 3 of its list: the collections' options and indexes, as our own transfer copies them.
        "clusterInfoSet": "2,3",
    }
    _check(values)
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _check(values: dict[str, object]) -> None:
    limits = _LIMITS | dict.fromkeys(("bucketSize", "bucketNum", "batchSize"), (1, 10**6))
    for key, (least, most) in limits.items():
        value = int(str(values[key]))
        if not least <= value <= most:
            raise BadInput(f"DDT takes {least} to {most}", key=key, value=value, fix="choose a level within its limits")


def _url(endpoint: MongoEndpoint) -> str:
    if endpoint.password is None:
        return endpoint.url
    user, at, rest = endpoint.url.partition("@")
    return f"{user}:{quote_plus(endpoint.password)}{at}{rest}"


def command(jar: Path, properties_file: Path, *, heap_mb: int, java: str = "java") -> list[str]:
    """The command line: the heap is bounded, so that memory is the cache's doing and not the host's size."""
    return [java, f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-jar", str(jar), str(properties_file)]


@dataclass(frozen=True)
class Count:
    """Documents written so far: `t` by the log's clock, `seconds` since the start of the task."""

    t: datetime
    documents: int
    seconds: int


@dataclass(frozen=True)
class Log:
    """What a run logged. `expected` is DDT's own estimate of the documents to transfer, None if it gave none."""

    counts: list[Count]
    expected: int | None
    has_ended: bool
    errors: list[str] = field(default_factory=list)

    @property
    def documents(self) -> int:
        return self.counts[-1].documents

    def rates(self) -> list[tuple[float, float]]:
        """(seconds since the start, documents/s since the line before), for each line until the last document."""
        start = Count(self.counts[0].t, 0, 0)
        pairs = zip([start, *self.counts], self.counts, strict=False)
        moved = [(before, after) for before, after in pairs if after.documents > before.documents]
        return [(float(b.seconds), (b.documents - a.documents) / _between(a, b)) for a, b in moved]


def _between(before: Count, after: Count) -> float:
    # The first line has no line before it: its seconds since the start count.
    return (after.t - before.t).total_seconds() or float(after.seconds) or 1.0


def written(text: str) -> list[int]:
    """Documents written so far, by each line of the log that says so."""
    return [int(found["documents"]) for found in _WRITTEN.finditer(text)]


def parse_log(text: str) -> Log:
    """What the log says. Raises OutputNotParseable without a single count, WorkloadFailed if it logged errors only."""
    errors = [found["text"] for found in _ERROR.finditer(text) if not _HARMLESS.search(found["text"])]
    counts = [
        Count(datetime.fromisoformat(found["time"]), int(found["documents"]), int(found["seconds"]))
        for found in _WRITTEN.finditer(text)
    ]
    if not counts and errors:
        raise WorkloadFailed(f"DDT: {errors[-1]}")
    if not counts:
        raise OutputNotParseable("DDT's log has no line `number of bars written`")
    expected = [int(found["documents"]) for found in _EXPECTED.finditer(text)]
    return Log(counts, max(expected, default=None), bool(_ENDED.search(text)), errors)
