"""Behaves as DDT's jar does: reads the properties file that it is given, copies, and logs as the jar logs.

What it does like release 1.1.0, and where that was seen (ddt_logs/, and the sources at 1ab6b70):

- every line has the form of the real one: they are cut from ddt_logs/success.log, with this run's time and figures;
- it ends with status 1 when everything was copied: `System.exit(1)` at the end of Execute.main; so did the real runs;
- it first splits every collection, and logs an ERROR for types that FerretDB does not know (80 in success.log);
- a batch holds batchSize + 2 documents (`if (this.cacheTemp++ > this.dataBatchSize)`; 4,680 documents in 36 batches);
- after the last document it goes on and does nothing: 142 s in success.log, here IDLE_S, in which it prints the same
  count once more; then `end execute task`;
- its log is in the time zone of its virtual machine, here as its command line says: UTC;
- it writes log files into ../logs (log4j2.xml: LOG_HOME), seen from the folder that it runs in.
"""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from pymongo import MongoClient

IDLE_S = 3.0
REAL = Path(__file__).parent / "ddt_logs" / "success.log"
# The time of a line, and who logged it at which level.
LINE = re.compile(r"^\S+ \S+ (\[[^\]]+\] \S+ - \w+ +-- )(.*)$")


class Lines:
    """Lines of the real log, told again."""

    def __init__(self) -> None:
        self.real = [found for line in REAL.read_text().splitlines() if (found := LINE.match(line))]
        logs = Path("..", "logs")
        logs.mkdir(exist_ok=True)
        self.file = (logs / "log.log").open("a")

    def tell(self, like: str, *changes: tuple[str, object]) -> None:
        """The first line that holds `like`, now, each change made in it."""
        head, text = next(found.groups() for found in self.real if like in found[2])
        for pattern, by in changes:
            text, made = re.subn(pattern, str(by), text, count=1)
            assert made, f"{pattern} is not in the real line {text}"
        line = f"{datetime.now(UTC).strftime('%Y-%m-%d %H:%M:%S.%f')[:-3]} {head}{text}"
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def count(self, written: int, total: int, seconds: float) -> None:
        self.tell("this full task is expected", (r"\d+ bars", f"{total} bars"))
        self.tell("number of batches remaining", (r"buffer:\d+", "buffer:0"))
        took = (r"time cost:\d+s", f"time cost:{seconds:.0f}s")
        self.tell("number of bars written", (r"written:\d+", f"written:{written}"), took)


def properties(file: Path) -> dict[str, str]:
    lines = (line for line in file.read_text().splitlines() if line and not line.startswith("#"))
    # As java.util.Properties does: a backslash in a value is written twice.
    return {key: value.replace("\\\\", "\\") for key, value in (line.split("=", 1) for line in lines)}


def main() -> int:
    given, lines, start = properties(Path(sys.argv[1])), Lines(), time.monotonic()
    batch = int(given["batchSize"]) + 2
    lines.tell("enable Start task")
    with MongoClient(given["sourceDsUrl"]) as source, MongoClient(given["targetDsUrl"]) as target:
        names = [(d, c) for d in source.list_database_names() for c in source[d].list_collection_names()]
        chosen = [(d, c) for d, c in names if re.fullmatch(given["dbTableWhite"], f"{d}.{c}")]
        total = sum(source[d][c].estimated_document_count() for d, c in chosen)
        for database, collection in chosen:
            namespace = (r"ddt\.c\d\d", f"{database}.{collection}")
            lines.tell("an error occurred when splitting", namespace)
            lines.tell("generates 1 tasks", namespace)
        written = 0
        for database, collection in chosen:
            lines.tell("the source task starts", (r"ddt\.c\d\d", f"{database}.{collection}"))
            documents = iter(source[database][collection].find())
            while some := list(islice(documents, batch)):
                written += len(target[database][collection].insert_many(some).inserted_ids)
            lines.count(written, total, time.monotonic() - start)
    time.sleep(IDLE_S)
    lines.tell("wait for the write thread")
    lines.count(written, total, time.monotonic() - start)
    lines.tell("end execute task")
    return 1


if __name__ == "__main__":
    sys.exit(main())
