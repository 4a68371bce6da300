"""The bound on what is between source and target, and what the target already holds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import bson

from mongo_transfer import raw
from mongo_transfer.cache import Batch, Cache
from mongo_transfer.ranges import Range

PART = Range("db", "c")
DOCUMENTS = [bson.encode({"_id": n}) for n in range(6)]


def batch(count: int) -> Batch:
    data = b"".join(DOCUMENTS[:count])
    return Batch(PART, data, raw.offsets(data))


def test_a_reader_waits_until_a_writer_gives_a_slot_back() -> None:
    cache = Cache(2, threading.Event())
    assert cache.reserve(2)
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(cache.reserve)
        assert not third.done()
        cache.put(batch(4))
        taken = cache.take()
        assert taken is not None
        cache.release(1, len(taken))
        assert third.result(5)
    assert cache.most_in_flight == 4


def test_a_closed_cache_is_emptied_and_then_ends() -> None:
    cache = Cache(2, threading.Event())
    cache.put(batch(1))
    cache.close()
    assert cache.take() is not None
    assert cache.take() is None


def test_a_stopped_transfer_takes_nothing_more() -> None:
    stop = threading.Event()
    cache = Cache(2, stop)
    cache.put(batch(1))
    stop.set()
    assert cache.take() is None
