"""What PostgreSQL's statistics views say of a server: of all its databases together."""

import json
import time

import psql_session

NEEDS = ["psql_session"]
METRICS = {
    "xact_commit": ("counter", "1/s"),
    "xact_rollback": ("counter", "1/s"),
    "blks_read": ("counter", "blocks/s"),
    "blks_hit": ("counter", "blocks/s"),
    "tup_returned": ("counter", "rows/s"),
    "tup_fetched": ("counter", "rows/s"),
    "tup_inserted": ("counter", "rows/s"),
    "tup_updated": ("counter", "rows/s"),
    "tup_deleted": ("counter", "rows/s"),
    "conflicts": ("counter", "1/s"),
    "deadlocks": ("counter", "1/s"),
    "temp_bytes": ("counter", "B/s"),
    "sessions": ("counter", "1/s"),
    "numbackends": ("level", "sessions"),
    "active": ("level", "sessions"),
    "lock_waits": ("level", "sessions"),
    "checkpoints_timed": ("counter", "1/s"),
    "checkpoints_req": ("counter", "1/s"),
    "checkpoint_write_time": ("counter", "ms/s"),
    "checkpoint_sync_time": ("counter", "ms/s"),
    "buffers_checkpoint": ("counter", "blocks/s"),
    "buffers_clean": ("counter", "blocks/s"),
    "buffers_backend": ("counter", "blocks/s"),
    "buffers_alloc": ("counter", "blocks/s"),
    "wal_records": ("counter", "1/s"),
    "wal_bytes": ("counter", "B/s"),
    "wal_sync": ("counter", "1/s"),
    "answer_ms": ("level", "ms"),
}
SUMMED = (
    "xact_commit xact_rollback blks_read blks_hit tup_returned tup_fetched tup_inserted tup_updated tup_deleted "
    "conflicts deadlocks temp_bytes numbackends"
).split()
# A view, or a column, that a version lacks is left out: each statement stands for itself, and says all that it has.
STATEMENTS = [
    "SELECT to_json(d) FROM (SELECT %s FROM pg_stat_database) d"
    % ", ".join("sum(%s) AS %s" % (name, name) for name in SUMMED),
    # Of PostgreSQL 14 and later: with the columns above, an older server would have refused those as well.
    "SELECT to_json(s) FROM (SELECT sum(sessions) AS sessions FROM pg_stat_database) s",
    "SELECT to_json(a) FROM (SELECT count(*) FILTER (WHERE state = 'active' AND pid <> pg_backend_pid()) AS active, "
    "count(*) FILTER (WHERE wait_event_type = 'Lock') AS lock_waits FROM pg_stat_activity) a",
    "SELECT to_json(b) FROM pg_stat_bgwriter b",
    "SELECT to_json(w) FROM pg_stat_wal w",
]


def sample(address, port, user, password):
    began = time.monotonic()
    lines = psql_session.asked(STATEMENTS, address, port, user, password, "postgres", ("-t",))
    said = {}
    for line in filter(None, lines):
        said.update(json.loads(line))
    values = {name: float(said[name]) for name in METRICS if said.get(name) is not None}
    values["answer_ms"] = 1000 * (time.monotonic() - began)
    return values
