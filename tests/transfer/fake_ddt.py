"""Behaves as DDT's jar does: reads the properties file that it is given, copies, and logs as the jar logs.

The lines are those of a log of December 2023. Copies with pymongo what `dbTableWhite` selects, batch by batch.
"""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from pymongo import MongoClient


def log(origin: str, text: str, level: str = "INFO ") -> None:
    stamp = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    print(f"{stamp} [mongoTask_full_execute] com.whaleal.ddt.{origin} - {level} -- {text}", flush=True)


def properties(file: Path) -> dict[str, str]:
    lines = (line for line in file.read_text().splitlines() if line and not line.startswith("#"))
    # As java.util.Properties does: a backslash in a value is written twice.
    return {key: value.replace("\\\\", "\\") for key, value in (line.split("=", 1) for line in lines)}


def tell(name: str, written: int, seconds: int) -> None:
    speed = written // max(seconds, 1)
    cache = "common.cache.FullMetaData.printCacheInfo"
    log(f"{cache}(262)", f"{name} number of batches remaining in the current buffer:0")
    text = f"{name} number of bars written:{written},time cost:{seconds}s,average write speed:{speed} per/s"
    log(f"{cache}(267)", text)
    log(f"{cache}(277)", f"{name} error getting full program execution,msg:/ by zero", "ERROR")


def main() -> None:
    given = properties(Path(sys.argv[1]))
    name, start = f"{given['workName']}_full", time.monotonic()
    log("execute.full.common.BaseFullWork.lambda$startFull$0(315)", f"enable Start task :{name}, task configuration")
    with MongoClient(given["sourceDsUrl"]) as source, MongoClient(given["targetDsUrl"]) as target:
        names = [(d, c) for d in source.list_database_names() for c in source[d].list_collection_names()]
        chosen = [(d, c) for d, c in names if re.fullmatch(given["dbTableWhite"], f"{d}.{c}")]
        total = sum(source[d][c].estimated_document_count() for d, c in chosen)
        log(
            "execute.full.common.BaseFullWork.lambda$startFull$0(404)",
            f"{name} this full task is expected to transfer {total} bars of data",
        )
        written = 0
        for database, collection in chosen:
            documents = list(source[database][collection].find())
            for first in range(0, len(documents), int(given["batchSize"])):
                batch = documents[first : first + int(given["batchSize"])]
                written += len(target[database][collection].insert_many(batch).inserted_ids)
            tell(name, written, int(time.monotonic() - start))
    log("execute.full.common.BaseFullWork.lambda$startFull$0(447)", f"end execute task :{name}, task configuration")


if __name__ == "__main__":
    main()
