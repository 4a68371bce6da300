"""The business service of the DTM report, built and run for itself: what it counts."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import database
import pymysql
import pytest
from kit import until

from benchbook.build import programs

pytestmark = [pytest.mark.real, pytest.mark.slow]


class DeadlockedDtm(BaseHTTPRequestHandler):
    """Answers each submit as DTM 1.19.0 does when its store has met a deadlock: with 500 and a message alone.

    The message is DTM's as it was seen (saga_test.go); that no `dtm_result` stands beside it, for an error that is
    neither FAILURE nor ONGOING, is in its WrapHandler2 (dtmutil/utils.go).
    """

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        met = "Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"
        told = json.dumps({"message": met}).encode()
        self.send_response(500)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def deadlocked_dtm(address: str) -> Iterator[str]:
    with ThreadingHTTPServer((address, 0), DeadlockedDtm) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{address}:{server.server_port}/api/dtmsvr"
        server.shutdown()
        thread.join()


class Service:
    """saga-bench as it listens at an address."""

    def __init__(self, address: str) -> None:
        self.url = f"http://{address}:8083"

    def asked(self, path: str, method: str = "GET") -> tuple[int, str]:
        request = urllib.request.Request(self.url + path, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def retried(self) -> int:
        return int(json.loads(self.asked("/stats")[1])["db_transactions_retried"])

    def answers(self) -> bool:
        try:
            return self.asked("/healthz")[0] == 200
        except urllib.error.URLError:
            return False


@contextmanager
def serving(at: database.Database, dtm: str) -> Iterator[Service]:
    words = [programs.artefact("dtm") / "saga-bench", "-listen", f"{at.address}:8083", "-db-address"]
    words += [f"{at.address}:{at.port}", "-db-user", "bench", "-accounts", "2", "-dtm", dtm]
    running = subprocess.Popen(words, env={**os.environ, "SAGA_BENCH_DB_PASSWORD": at.password})
    try:
        service = Service(at.address)
        until(lambda: running.poll() is not None or service.answers(), "saga-bench serves")
        yield service
    finally:
        running.terminate()
        running.wait()


def test_what_ran_again_is_counted_from_the_reset_on(tmp_path: Path, net: str) -> None:
    """A rung of no SQL said 117 retried transactions: those of the rungs before it, and of their warm-ups."""
    impatient = ["--innodb-lock-wait-timeout=0"]
    with (
        database.running(tmp_path, f"{net}.61", options=impatient) as at,
        deadlocked_dtm(at.address) as dtm,
        serving(at, dtm) as service,
    ):
        assert service.asked("/reset", "POST")[0] == 200
        holder = pymysql.connect(host=at.address, port=at.port, user="bench", password=at.password)
        with holder, holder.cursor() as cursor:
            cursor.execute("SELECT * FROM dtm_busi.account FOR UPDATE")
            status, said = service.asked("/saga?dtm=0&pairs=1")
        assert (status, "1205" in said) == (502, True), said
        assert service.retried() == 5, "a branch's transaction is tried five times"
        status, said = service.asked("/saga?dtm=1&pairs=1")
        assert (status, "1213" in said) == (502, True), said
        assert service.retried() == 5 + 20, "a saga is submitted twenty times"
        assert service.asked("/reset", "POST")[0] == 200
        assert service.retried() == 0
