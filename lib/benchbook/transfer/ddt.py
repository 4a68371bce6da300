"""Adapter for DDT (Document Data Transfer), the tool of the `ddt_full_scale` report: a jar that the user brings.

Its properties file and its command line; what it logs is read in `ddt_log`. Three of its ways matter here. It takes a
random bucket of the first hundred, whatever their number. A reader hands on a batch once it holds more than `batchSize`
+ 1 documents. And it writes log files to `../logs`, so that it must run one folder below its job's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from benchbook.errors import BadInput
from benchbook.transfer.settings import MongoEndpoint

# Limits of the program, which silently replaces what is outside of them; of more buckets it uses a hundred.
_LIMITS = {
    "sourceThreadNum": (2, 100),
    "targetThreadNum": (4, 100),
    "bucketSize": (1, 10**6),
    "bucketNum": (1, 100),
    "batchSize": (1, 10**6),
}
# Documents in a batch beyond `batchSize`.
BATCH_EXTRA = 2


@dataclass(frozen=True)
class Levels:
    """DDT's knobs, by the names that the report gives them."""

    source_threads: int
    target_threads: int
    cache_bucket_size: int
    cache_bucket_num: int
    batch_size: int


def properties(levels: Levels, source: MongoEndpoint, target: MongoEndpoint, namespaces: str) -> str:
    r"""The text of the properties file; `namespaces` is an expression over `database.collection`, as `ddt\..+`.

    It holds the passwords, if there are any: write it for its owner only. Raises BadInput where DDT would quietly use
    another value.
    """
    values: dict[str, object] = {
        "workName": "benchbook",
        "sourceDsUrl": _url(source),
        "targetDsUrl": _url(target),
        "syncMode": "all",
        "fullType": "sync",
        "dbTableWhite": namespaces.replace("\\", "\\\\"),
        **_numbers(levels),
        "createIndexThreadNum": 2,
        # 2 and 3 of its list: the collections' options and indexes, as our own transfer copies them.
        "clusterInfoSet": "2,3",
    }
    check(levels)
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _numbers(levels: Levels) -> dict[str, int]:
    return {
        "sourceThreadNum": levels.source_threads,
        "targetThreadNum": levels.target_threads,
        "bucketSize": levels.cache_bucket_size,
        "bucketNum": levels.cache_bucket_num,
        "batchSize": levels.batch_size,
    }


def check(levels: Levels) -> None:
    """Raises BadInput for a level in place of which DDT would quietly use another one."""
    for key, value in _numbers(levels).items():
        least, most = _LIMITS[key]
        if not least <= value <= most:
            raise BadInput(f"DDT takes {least} to {most}", key=key, value=value, fix="choose a level within its limits")


def _url(endpoint: MongoEndpoint) -> str:
    """With the password in it: percent-encoded throughout, for in this part of a URL a plus is a plus."""
    if endpoint.password is None:
        return endpoint.url
    user, at, rest = endpoint.url.partition("@")
    return f"{user}:{quote(endpoint.password, safe='')}{at}{rest}"


def command(jar: Path, properties_file: Path, *, heap_mb: int, java: str = "java") -> list[str]:
    """The command line. The heap is bounded, so that memory is the cache's doing and not the host's size.

    Its log is in UTC, so that its times are those of the host's clock without knowing the host's time zone.
    """
    heap = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m"]
    return [java, *heap, "-Duser.timezone=UTC", "-jar", str(jar), str(properties_file)]
