"""Samples a MySQL-protocol server's status counters once a second into a file.

    sample_mysql.py OUT_FILE ADDRESS PORT USER PASSWORD_FILE CLIENT_LIBRARY [INTERVAL_S]

CLIENT_LIBRARY is a zip with PyMySQL. One JSON line a second: {"t": epoch seconds, "cpu": CPU seconds used by
this program, "v": {variable: number}}; a sample
that the server did not answer is {"t", "error"}: a gap is shown as a gap.
"""

import json
import signal
import sys
import time

STOP = (signal.SIGTERM, signal.SIGINT)
# The counters a reader of a benchmark asks for; a server that has only some of them gives those.
WANTED = (
    "Questions", "Com_select", "Com_insert", "Com_update", "Com_delete", "Com_commit", "Com_rollback", "Com_begin",
    "Com_replace", "Threads_running", "Threads_connected", "Bytes_received", "Bytes_sent", "Aborted_clients",
    "Slow_queries", "Handler_commit", "Handler_write", "Handler_update", "Handler_delete", "Innodb_rows_inserted",
    "Innodb_rows_updated", "Innodb_rows_read", "Innodb_rows_deleted", "Innodb_row_lock_waits",
    "Innodb_row_lock_time", "Innodb_data_fsyncs", "Innodb_data_written", "Innodb_os_log_written",
    "Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_wait_free",
    "Innodb_deadlocks", "Binlog_bytes_written", "Binlog_commits",
)  # fmt: skip
QUERY = "SHOW GLOBAL STATUS WHERE Variable_name IN (%s)" % ",".join("'%s'" % name for name in WANTED)
# TiDB keeps its counters elsewhere (its status port) and answers with none of these. Its list of sessions is not asked
# for instead: a tidb-server was seen to die while that list was read and 400 connections came in.


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Server:
    def __init__(self, pymysql, address, port, user, password):
        self.pymysql, self.where = pymysql, (address, port, user, password)
        self.link = None

    def ask(self, statement):
        if self.link is None:
            address, port, user, password = self.where
            self.link = self.pymysql.connect(
                host=address,
                port=port,
                user=user,
                password=password,
                connect_timeout=2,
                read_timeout=5,
                autocommit=True,
            )
        with self.link.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def sample(self):
        try:
            began = time.monotonic()
            values = {name: number(value) for name, value in self.ask(QUERY)}
            values = {name: value for name, value in values.items() if value is not None}
            # What every server of this protocol shows: how long it takes to answer this question.
            values["answer_ms"] = 1000 * (time.monotonic() - began)
            return {"v": values}
        except (self.pymysql.MySQLError, OSError) as problem:
            self.link = None
            return {"error": str(problem)}


def main(argv):
    out_path, address, port, user, password_file, library = argv[:6]
    interval = float(argv[6]) if len(argv) > 6 else 1.0
    sys.path.insert(0, library)
    import pymysql  # noqa: PLC0415  (it comes from the zip)

    with open(password_file) as source:
        server = Server(pymysql, address, int(port), user, source.read().rstrip("\n"))
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    due = time.monotonic()
    with open(out_path, "w", buffering=1) as out:
        while True:
            out.write(json.dumps(dict(t=time.time(), cpu=time.process_time(), **server.sample())) + "\n")
            due += interval
            if signal.sigtimedwait(STOP, max(0.0, due - time.monotonic())):
                out.write(json.dumps(dict(t=time.time(), cpu=time.process_time(), **server.sample())) + "\n")
                return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
