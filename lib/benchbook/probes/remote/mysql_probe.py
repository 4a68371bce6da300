"""What `SHOW GLOBAL STATUS` says of a server that speaks the MySQL protocol; a server gives those that it has."""

import functools
import ssl
import time

import pymysql

# PyMySQL is pure Python: it is sent along, so that hosts need nothing but python3.
NEEDS = ["pymysql"]
# The counters a reader of a benchmark asks for.
METRICS = {
    "Questions": ("counter", "1/s"),
    "Com_select": ("counter", "1/s"),
    "Com_insert": ("counter", "1/s"),
    "Com_update": ("counter", "1/s"),
    "Com_delete": ("counter", "1/s"),
    "Com_commit": ("counter", "1/s"),
    "Com_rollback": ("counter", "1/s"),
    "Com_begin": ("counter", "1/s"),
    "Com_replace": ("counter", "1/s"),
    "Threads_running": ("level", "threads"),
    "Threads_connected": ("level", "threads"),
    "Bytes_received": ("counter", "B/s"),
    "Bytes_sent": ("counter", "B/s"),
    "Aborted_clients": ("counter", "1/s"),
    "Slow_queries": ("counter", "1/s"),
    "Handler_commit": ("counter", "1/s"),
    "Handler_write": ("counter", "1/s"),
    "Handler_update": ("counter", "1/s"),
    "Handler_delete": ("counter", "1/s"),
    "Innodb_rows_inserted": ("counter", "1/s"),
    "Innodb_rows_updated": ("counter", "1/s"),
    "Innodb_rows_read": ("counter", "1/s"),
    "Innodb_rows_deleted": ("counter", "1/s"),
    "Innodb_row_lock_waits": ("counter", "1/s"),
    "Innodb_row_lock_time": ("counter", "ms/s"),  # milliseconds that all sessions together have waited
    "Innodb_data_fsyncs": ("counter", "1/s"),
    "Innodb_data_written": ("counter", "B/s"),
    "Innodb_os_log_written": ("counter", "B/s"),
    "Innodb_buffer_pool_reads": ("counter", "1/s"),
    "Innodb_buffer_pool_read_requests": ("counter", "1/s"),
    "Innodb_buffer_pool_wait_free": ("counter", "1/s"),
    "Innodb_deadlocks": ("counter", "1/s"),
    "Binlog_bytes_written": ("counter", "B/s"),
    "Binlog_commits": ("counter", "1/s"),
    # What every server of this protocol shows: how long it takes to answer this very question.
    "answer_ms": ("level", "ms"),
}
ASKED = ",".join("'%s'" % name for name in METRICS if name != "answer_ms")
QUERY = "SHOW GLOBAL STATUS WHERE Variable_name IN (%s)" % ASKED
# TiDB keeps its counters elsewhere (its status port) and answers with none of these. Its list of sessions is not asked
# for instead: a tidb-server was seen to die while that list was read and 400 connections came in.


@functools.lru_cache(maxsize=1)
def connection(address, port, user, password, tls):
    """Kept from sample to sample, until one fails: the next is by a new one."""
    return pymysql.connect(
        host=address,
        port=port,
        user=user,
        password=password,
        connect_timeout=2,
        read_timeout=5,
        autocommit=True,
        ssl=None if tls is False else trusting(tls),
    )


def trusting(authorities):
    """As the kit's own SQL does: whom named authorities vouch for, by whatever name; else by its name alone."""
    context = ssl.create_default_context(cadata=authorities or None)
    context.check_hostname = not authorities
    return context


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def transactions(gtids):
    """How many transactions `UUID:1-5:7, UUID:3` are (7): MySQL's way to say what MariaDB counts in Binlog_commits."""
    ranges = [part.split("-") for of_server in gtids.split(",") for part in of_server.split(":")[1:]]
    return sum(int(bounds[-1]) - int(bounds[0]) + 1 for bounds in ranges) if ranges else None


def sample(address, port, user, password, tls):
    began = time.monotonic()
    try:
        with connection(address, port, user, password, tls).cursor() as cursor:
            cursor.execute(QUERY)
            values = {name: number(value) for name, value in cursor.fetchall()}
            if "Binlog_commits" not in values:
                # Not by SELECT, which would count among the load's statements.
                cursor.execute("SHOW GLOBAL VARIABLES LIKE 'gtid_executed'")
                values["Binlog_commits"] = transactions("".join(value for _, value in cursor.fetchall()))
    except (pymysql.MySQLError, OSError):
        connection.cache_clear()
        raise
    values = {name: value for name, value in values.items() if value is not None}
    values["answer_ms"] = 1000 * (time.monotonic() - began)
    return values
