"""Documents that a MongoDB server holds in one database, by its own statistics: no document is read for it.

It needs PyMongo, so it runs with a Python that has it. A mongod keeps these figures; FerretDB walks its pages to count.
So a count that took long is followed by a rest that is REST times as long: the server gives at most a tenth of its time
to it, and what is not asked meanwhile is not told.
"""

import functools
import time

from pymongo import MongoClient

METRICS = {"documents": ("level", "1")}
REST = 9
PATIENCE_MS = 3000
# Until when a server is not asked again, by the monotonic clock.
RESTS = {}  # type: dict[str, float]


@functools.lru_cache(maxsize=None)
def connected(url, password):
    return MongoClient(
        url,
        password=password or None,
        serverSelectionTimeoutMS=PATIENCE_MS,
        socketTimeoutMS=PATIENCE_MS,
        appname="benchbook-probe",
    )


def count(database):
    names = database.list_collection_names(filter={"type": "collection"})
    counts = [database[name].aggregate([{"$collStats": {"count": {}}}]) for name in names]
    return sum(each["count"] for found in counts for each in found)


def sample(url, database, password=""):
    began = time.monotonic()
    if began < RESTS.get(url, 0.0):
        return {}
    found = count(connected(url, password)[database])
    ended = time.monotonic()
    RESTS[url] = ended + REST * (ended - began)
    return {"documents": found}
