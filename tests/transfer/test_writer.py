"""What a target refuses of a batch: documents that are older than the validator of their collection."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import bson
import pytest
from pymongo.errors import OperationFailure

from mongo_transfer import raw
from mongo_transfer.cache import Batch
from mongo_transfer.clients import Client
from mongo_transfer.errors import TransferFailed
from mongo_transfer.ranges import Range
from mongo_transfer.writer import Writer


class Validating:
    """A target that answers as mongod does whose collection has a validator; FerretDB has none. `n` must be even."""

    write_concern = SimpleNamespace(document={})

    def __init__(self, *, may_bypass: bool) -> None:
        self.may_bypass, self.written, self.asked = may_bypass, list[int](), 0

    def __getitem__(self, database: str) -> Validating:
        return self

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        unchecked = command.get("bypassDocumentValidation", False)
        if unchecked and not self.may_bypass:
            raise OperationFailure('not authorized on shop to execute command { insert: "c" }', code=13)
        sent = [bson.decode(each)["n"] for part in command["documents"] for each in raw.split(part.raw)]
        odd = [] if unchecked else [index for index, n in enumerate(sent) if n % 2]
        self.written += [n for index, n in enumerate(sent) if index not in odd]
        errors = [{"index": index, "code": 121, "errmsg": "Document failed validation"} for index in odd]
        return {"n": len(sent) - len(odd), **({"writeErrors": errors} if errors else {}), "ok": 1.0}


def batch(*numbers: int) -> Batch:
    data = b"".join(bson.encode({"_id": n, "n": n}) for n in numbers)
    return Batch(Range("shop", "c"), data, raw.offsets(data))


def writer(target: object) -> Writer:
    return Writer(cast(Client, target), 1.0, threading.Event())


def test_documents_older_than_the_validator_of_their_collection_are_copied() -> None:
    target = Validating(may_bypass=True)
    counts = writer(target).write(batch(1, 2, 3, 4, 5))
    assert (counts.inserted, counts.already_there) == (5, 0)
    assert sorted(target.written) == [1, 2, 3, 4, 5]
    writer(target).write(batch(6, 8))
    assert target.asked == 3, "who has none of them asks once"


def test_who_may_not_write_them_is_told_which_right_that_takes() -> None:
    with pytest.raises(TransferFailed, match=r"its own validator refuses .*: not authorized .* the role dbAdmin"):
        writer(Validating(may_bypass=False)).write(batch(1, 2))


class SteppingDown:
    """A primary that loses its office as it writes, so that the other members have nothing of it; then another one."""

    write_concern = SimpleNamespace(document={"w": "majority"})

    def __init__(self, *, times: int) -> None:
        self.left = times

    def __getitem__(self, database: str) -> SteppingDown:
        return self

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        assert command["writeConcern"] == {"w": "majority"}
        self.left -= 1
        short = {"code": 189, "codeName": "PrimarySteppedDown", "errmsg": "operation was interrupted"}
        return {"n": 2, "ok": 1.0, **({"writeConcernError": short} if self.left >= 0 else {})}


def test_what_a_majority_has_not_acknowledged_is_written_again() -> None:
    target = SteppingDown(times=1)
    assert writer(target).write(batch(1, 2)).inserted == 2
    assert target.left == -1, "once more, and no oftener"
    with pytest.raises(TransferFailed, match="lost for 1 s: operation was interrupted"):
        writer(SteppingDown(times=1_000)).write(batch(1, 2))
