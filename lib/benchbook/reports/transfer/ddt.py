"""Adapter for DDT (Document Data Transfer), the tool of the `ddt_full_scale` report: a jar that the user brings.

What goes into DDT's properties file and command line, and what its log says. Three of its ways matter here. It takes a
random bucket of the first hundred, whatever their number. A reader hands on a batch once it holds more than `batchSize`
+ 1 documents. And it writes log files to `../logs`, so that it must run one folder below its job's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from benchbook.campaign.design import Levels
from benchbook.errors import BadInput
from mongo_transfer.settings import MongoEndpoint

# DDT's names for the report's levels, and its limits: it silently replaces a value outside them, and
# uses no more than 100 buckets.
_KNOBS = {
    "sourceThreadNum": ("source_threads", 2, 100),
    "targetThreadNum": ("target_threads", 4, 100),
    "bucketSize": ("cache_bucket_size", 1, 10**6),
    "bucketNum": ("cache_bucket_num", 1, 100),
    "batchSize": ("data_batch_size", 1, 10**6),
}
# Documents in a batch beyond `batchSize`.
BATCH_EXTRA = 2


def properties(levels: Levels, source: MongoEndpoint, target: MongoEndpoint, namespaces: str) -> str:
    r"""Return the text of the properties file; `namespaces` is an expression over `database.collection`, as `ddt\..+`.

    It holds the passwords, if there are any: write it for its owner only. Raise BadInput where DDT would quietly use
    another value.
    """
    values: dict[str, object] = {
        "workName": "benchbook",
        "sourceDsUrl": _url(source),
        "targetDsUrl": _url(target),
        "syncMode": "all",
        "fullType": "sync",
        "dbTableWhite": namespaces.replace("\\", "\\\\"),
        **{key: levels[name] for key, (name, _, _) in _KNOBS.items()},
        "createIndexThreadNum": 2,
        # 2 and 3 of its list: the collections' options and indexes, as our own transfer copies them.
        "clusterInfoSet": "2,3",
    }
    check(levels)
    return "".join(f"{key}={value}\n" for key, value in values.items())


def check(levels: Levels) -> None:
    """Raise BadInput for a level in place of which DDT would quietly use another one."""
    for key, (name, least, most) in _KNOBS.items():
        if not least <= (value := int(levels[name])) <= most:
            raise BadInput(f"DDT takes {least} to {most}", key=key, value=value, fix="choose a level within its limits")


def _url(endpoint: MongoEndpoint) -> str:
    """With the password in it: percent-encoded throughout, for in this part of a URL a plus is a plus."""
    if endpoint.password is None:
        return endpoint.url
    user, at, rest = endpoint.url.partition("@")
    return f"{user}:{quote(endpoint.password, safe='')}{at}{rest}"


def command(jar: Path, properties_file: Path, *, heap_mb: int, java: str = "java") -> list[str]:
    """Return the command line. The heap is bounded, so that memory is the cache's doing and not the host's size.

    Its log is in UTC, so that its times are those of the host's clock without knowing the host's time zone.
    """
    heap = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m"]
    return [java, *heap, "-Duser.timezone=UTC", "-jar", str(jar), str(properties_file)]


# One run logged 6,082 errors, most of them a whole document each.
ERRORS_KEPT = 100
_LONGEST = 500
_STAMP = r"^(?P<time>\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}) .*?"
_BEGAN = re.compile(_STAMP + r"the source task starts", re.MULTILINE)
_WRITTEN = re.compile(_STAMP + r"number of bars written:(?P<documents>\d+),", re.MULTILINE)
_SPLIT = re.compile(_STAMP + r"(?P<namespace>\S+) generates \d+ tasks", re.MULTILINE)
_ENDED = re.compile(_STAMP + r"end execute task", re.MULTILINE)
_SLOWED = re.compile(_STAMP + r"the rate limit is enabled", re.MULTILINE)
_ERROR = re.compile(_STAMP + r"- ERROR -- (?P<text>.+)$", re.MULTILINE)
# A logged error, or the head of a stack trace; and the frames below it.
_OF_ERROR = re.compile(r" - ERROR -- |^(Caused by: )?[\w.$]+(Exception|Error): ")
_FRAME = re.compile(r"^\s+(at |\.\.\. \d+ more)")
# Logged as errors, but no harm: a division by the zero seconds of its own statistics; and where it asks for each BSON
# type whether a collection has an _id of it, types that the server does not know.
_HARMLESS = re.compile(
    r"error getting full program execution|start parameter error|an error occurred when splitting the \S+ table task, "
    r"and the error message was reported:Command failed with error (2 \(BadValue\): 'Invalid numerical type code"
    r"|238 \(NotImplemented\): 'Type code)"
)
# What a driver says of servers is in braces too, and is no document.
_OF_SERVERS = ("cluster state is {", "ServerDescription{")
# What comes after it is a document, whatever its words are.
_WRITE = "data write failure"


@dataclass(frozen=True)
class DdtLog:
    """What a run logged; times in s since the epoch, by its host. `began`: its first reader, None if none began.

    `counts`: times, and the documents written by then. `errors` are the first ERRORS_KEPT that matter, without
    documents; `errors_in_all` how many there were. `slowed`: how often it found the host too busy and limited its rate.
    """

    began: float | None
    counts: list[tuple[float, int]]
    has_ended: bool
    errors: list[str] = field(default_factory=list)
    errors_in_all: int = 0
    slowed: int = 0

    @property
    def documents(self) -> int:
        return self.counts[-1][1] if self.counts else 0

    @property
    def first_cause(self) -> str:
        """The first error that matters: those after it are its consequences. "" without any."""
        return self.errors[0] if self.errors else ""

    def complete_at(self) -> float | None:
        """When it first printed its last count, in steps of its ten seconds."""
        return next((t for t, documents in self.counts if documents == self.documents), None)


def parse(text: str) -> DdtLog:
    """Return what the log of one run says, of a JVM whose time zone is UTC."""
    began = _BEGAN.search(text)
    counts = [(_epoch(found["time"]), int(found["documents"])) for found in _WRITTEN.finditer(text)]
    errors = list(_errors(text))
    return DdtLog(
        _epoch(began["time"]) if began else None,
        counts,
        bool(_ENDED.search(text)),
        errors[:ERRORS_KEPT],
        len(errors),
        sum(1 for _ in _SLOWED.finditer(text)),
    )


def _epoch(time: str) -> float:
    return datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()


def _errors(text: str) -> Iterator[str]:
    for found in _ERROR.finditer(text):
        if not _HARMLESS.search(found["text"]):
            yield _shown(found["text"])


def progress(text: str) -> set[str]:
    """Return how far it is, by these lines: collections that it has split, and documents written."""
    split = {f"{found['namespace']} is split" for found in _SPLIT.finditer(text)}
    return split | {f"{int(found['documents'])} documents" for found in _WRITTEN.finditer(text)}


def without_documents(text: str) -> str:
    """The log as it may be kept: nothing in braces, where documents stand, and of its errors the first ERRORS_KEPT.

    Frames of stack traces are left out.
    """
    kept, errors = [], 0
    for line in text.splitlines():
        is_error = bool(_OF_ERROR.search(line))
        errors += is_error
        if not _FRAME.match(line) and not (is_error and errors > ERRORS_KEPT):
            kept.append(_shown(line))
    if errors > ERRORS_KEPT:
        kept.append(f"[{errors - ERRORS_KEPT} further lines of errors are left out]")
    return "".join(f"{line}\n" for line in kept)


def _shown(line: str) -> str:
    """Return the line without what stands in braces, unless it describes servers; an unclosed brace ends it."""
    start, end = line.find("{"), line.rfind("}")
    if start >= 0 and (_WRITE in line or not any(word in line for word in _OF_SERVERS)):
        line = f"{line[:start]}{{...}}{line[end + 1 :] if end > start else ''}"
    return line[:_LONGEST]
