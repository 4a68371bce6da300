"""The adapter for DDT: every knob mapped, its log read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from benchbook.errors import BadInput
from benchbook.reports.transfer import ddt
from mongo_transfer.settings import MongoEndpoint

LEVELS: dict[str, str | int | float] = {
    "source_threads": 6, "target_threads": 24, "cache_bucket_size": 48, "cache_bucket_num": 47, "data_batch_size": 128,
}  # fmt: skip
SOURCE, TARGET = MongoEndpoint("mongodb://127.0.82.1:27017/"), MongoEndpoint("mongodb://127.0.82.2:27017/")


def test_every_knob_is_mapped() -> None:
    lines = ddt.properties(LEVELS, SOURCE, TARGET, r"ddt\..+").splitlines()
    assert lines == [
        "workName=benchbook",
        "sourceDsUrl=mongodb://127.0.82.1:27017/",
        "targetDsUrl=mongodb://127.0.82.2:27017/",
        "syncMode=all",
        "fullType=sync",
        "dbTableWhite=ddt\\\\..+",
        "sourceThreadNum=6",
        "targetThreadNum=24",
        "bucketSize=48",
        "bucketNum=47",
        "batchSize=128",
        "createIndexThreadNum=2",
        "clusterInfoSet=2,3",
    ]


def test_a_password_is_in_the_file_only_and_escaped_for_a_url() -> None:
    secret = MongoEndpoint("mongodb://me@127.0.82.1:27017/?authSource=admin", "p@ss/w rd+")
    text = ddt.properties(LEVELS, secret, TARGET, "ddt.+")
    # Not quote_plus: in this part of a URL a plus stands for itself, and a space is %20 (RFC 3986).
    assert "sourceDsUrl=mongodb://me:p%40ss%2Fw%20rd%2B@127.0.82.1:27017/?authSource=admin\n" in text


@pytest.mark.parametrize(
    ("key", "value"), [("source_threads", 1), ("target_threads", 3), ("cache_bucket_num", 0), ("cache_bucket_num", 101)]
)
def test_levels_that_ddt_would_replace_are_refused(key: str, value: int) -> None:
    with pytest.raises(BadInput, match="DDT takes"):
        ddt.properties({**LEVELS, key: value}, SOURCE, TARGET, "ddt.+")


# -- the log: three real runs of release 1.1.0 over FerretDB, in November 2026 (of 60,000, 3,000 and 3,000 documents).
# Repeated lines (licence, load of the host, driver) were taken out, paths and addresses replaced. The figures were read
# off the files by hand.

LOGS = Path(__file__).parent / "ddt_logs"
SUCCESS, UNREACHABLE, HANGS = (
    (LOGS / f"{name}.log").read_text() for name in ("success", "target-unreachable", "source-killed-hangs")
)


def at(time: str) -> float:
    return datetime.fromisoformat(f"2026-11-22 {time}+00:00").timestamp()


def test_a_real_success_is_timed_from_its_first_reader_to_its_last_count() -> None:
    log = ddt.parse(SUCCESS)
    assert log.began == at("01:58:07.584")
    steps = [("01:58:14.459", 2470), ("01:58:24.479", 48000), ("01:58:34.513", 60000), ("02:00:55.999", 60000)]
    assert log.counts == [(at(time), documents) for time, documents in steps]
    assert log.complete_at() == at("01:58:34.513")
    assert (log.documents, log.has_ended) == (60000, True)


def test_what_ferretdb_does_not_know_of_bson_types_is_no_error() -> None:
    assert SUCCESS.count(" - ERROR -- ") == 80
    log = ddt.parse(SUCCESS)
    assert (log.errors, log.errors_in_all, log.first_cause) == ([], 0, "")
    assert log.slowed == SUCCESS.count("the rate limit is enabled") == 19


def test_an_unreachable_target_is_told_by_its_first_error_although_the_task_ends() -> None:
    log = ddt.parse(UNREACHABLE)
    assert (log.has_ended, log.documents, log.began) == (True, 0, None)
    assert log.first_cause.startswith("benchbook_full_target failed to check data source connectivity:Timed out after")
    assert "127.0.77.53:27017" in log.first_cause
    assert log.errors_in_all == 2


def test_a_killed_source_leaves_a_log_without_its_end() -> None:
    log = ddt.parse(HANGS)
    assert (log.has_ended, log.documents, log.began) == (False, 0, None)
    assert "execution error :Timed out after 30000 ms" in log.first_cause
    assert log.errors_in_all == 9


def test_what_a_run_tells_of_its_progress() -> None:
    split = {f"ddt.c{n:02} is split" for n in range(10)}
    assert ddt.progress(SUCCESS) == split | {"2470 documents", "48000 documents", "60000 documents"}
    # It goes on for ever, and tells the same.
    assert ddt.progress(HANGS) == {"0 documents"}


def failed_write(number: int) -> str:
    """What DDT 1.1.0 prints of a document that is on the target already, real but for the document's own fields.

    Of 3,000 such documents it logged 6,000 lines of these two kinds, and wrote 30 stack traces to its other output.
    """
    task = "com.whaleal.ddt.sync.task.write.FullSyncWriteTask.singleExecute"
    head = f"2026-11-22 14:44:42.442 [benchbook_full_writeThreadPoolName_6] {task}"
    failed = "ERROR -- ns:ddt.c01,data write failure:"
    document = f'{{"_id": {{"$oid": "{number:024x}"}}, "note": "secret of a cluster state is {{"}}'
    cast = "class org.bson.BsonDocument cannot be cast to class org.bson.Document"
    return (
        f"{head}(87) - {failed}E11000 duplicate key error collection: ddt.c01\n"
        f"{head}(89) - {failed}type:InsertOneModel,,InsertOneModel{{document={document}}},{cast}\n"
        "com.mongodb.MongoBulkWriteException: Bulk write operation error on server 127.0.83.22:27017. Write errors: "
        "[BulkWriteError{index=0, code=11000, message='E11000 duplicate key error collection: ddt.c01', details={}}].\n"
        "\tat com.mongodb.internal.connection.BulkWriteBatchCombiner.throwOnError(BulkWriteBatchCombiner.java:198)\n"
    )


def test_a_hundred_errors_are_kept_and_no_document() -> None:
    text = UNREACHABLE + "".join(map(failed_write, range(3000)))
    log = ddt.parse(text)
    assert (len(log.errors), log.errors_in_all) == (100, 6002)
    cast = "class org.bson.BsonDocument cannot be cast to class org.bson.Document"
    assert log.errors[2:4] == [
        "ns:ddt.c01,data write failure:E11000 duplicate key error collection: ddt.c01",
        f"ns:ddt.c01,data write failure:type:InsertOneModel,,InsertOneModel{{...}},{cast}",
    ]
    kept = ddt.without_documents(text)
    assert "secret" not in kept + "".join(log.errors)
    # One exception of its own is in the log before: 9,003 in all.
    assert kept.count(" - ERROR -- ") + kept.count("Exception: Bulk") + kept.count("Caused by: ") == 100
    assert "\n[8903 further lines of errors are left out]\n" in kept
    assert "\tat " not in kept
    assert "state=CONNECTING" in kept, "what a driver says of a server is kept"


def test_what_is_kept_of_a_success_says_the_same() -> None:
    assert ddt.parse(ddt.without_documents(SUCCESS)) == ddt.parse(SUCCESS)
