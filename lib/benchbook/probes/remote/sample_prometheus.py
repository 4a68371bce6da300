"""Scrape Prometheus endpoints once per interval into a file, one JSON object per line. Runs on the observed host.

Only the standard library, Python 3.7 or newer, because it is copied to hosts that have nothing else. Each line is

    {"t": 1795231654.002, "source": "tidb", "cpu": 0.31, "took": 0.011,
     "v": {"tidb_server_query_total{result=\"OK\"}": 12.0, ...}}

with t in seconds since the epoch by this host's clock, read just before the request, cpu in seconds that this program
has used so far, and took in seconds. A scrape that fails leaves {"t": ..., "source": ..., "error": "..."} in its place.
Ticks lie on whole multiples of the interval, so series of several hosts share their grid; a tick that was missed is
left out, never caught up. SIGUSR1 lets it look at once, which "asked": true in the line tells; SIGTERM ends it after a
whole line.
"""

import argparse
import http.client
import json
import math
import re
import signal
import sys
import threading
import time
import urllib.request


def series(line):
    """One exposition line as (key, value); the value stands behind the labels, a timestamp may follow it."""
    end = line.rfind(b"}") + 1 or line.find(b" ")
    return line[:end].decode("utf-8", "replace"), float(line[end:].split()[0])


def keep(body, wanted):
    """The finite values of the series that `wanted` matches from their first character, by series."""
    match = wanted.match
    pairs = [series(line) for line in body.split(b"\n") if match(line) and not line.startswith(b"#")]
    return {key: value for key, value in pairs if math.isfinite(value)}


def scrape(url, wanted, timeout):
    """The part of a line that a scrape yields: took and v, or error."""
    begun = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            body = response.read()
        values = keep(body, wanted)
    # An answer that breaks off, as of a server that is killed meanwhile, is no OSError.
    except (OSError, ValueError, IndexError, http.client.HTTPException) as failure:
        return {"error": "{}: {}".format(type(failure).__name__, failure)}
    return {"took": round(time.perf_counter() - begun, 4), "v": values}


def look(name, url, wanted, timeout, **more):
    """One target, now, as a line."""
    line = dict({"t": round(time.time(), 3), "source": name, "cpu": round(time.process_time(), 4)}, **more)
    line.update(scrape(url, wanted, timeout))
    return json.dumps(line, separators=(",", ":")) + "\n"


class Sampler:
    """Scrapes every target on its own thread, so one that hangs delays no other; lines are written under one lock."""

    def __init__(self, out, interval, wanted, targets):
        self.out, self.interval, self.wanted, self.targets = out, interval, wanted, targets
        self.stop, self.lock = threading.Event(), threading.Lock()

    def wait_for_tick(self):
        """Sleep to the next multiple of the interval; False when asked to stop."""
        now = time.time()
        return not self.stop.wait((math.floor(now / self.interval) + 1) * self.interval - now)

    def watch(self, name, url):
        while self.wait_for_tick():
            self.look(name, url)

    def look(self, name, url, **more):
        self.write(look(name, url, self.wanted, max(1.0, self.interval), **more))

    def write(self, line):
        with self.lock:
            if not self.stop.is_set():
                self.out.write(line)
                self.out.flush()

    def run(self):
        """Until SIGTERM or SIGINT, taken by sigwait: no handler can run while a lock is held."""
        taken = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_BLOCK, taken)  # before the threads, which inherit it
        for name, url in self.targets:
            threading.Thread(target=self.watch, args=(name, url), daemon=True).start()
        while signal.sigwait(taken) == signal.SIGUSR1:
            for name, url in self.targets:
                self.look(name, url, asked=True)
        self.stop.set()
        self.lock.acquire()  # never released: a line that is being written is finished, no other begins


def target(text):
    name, sep, url = text.partition("=")
    if not (sep and name and url.startswith("http")):
        raise argparse.ArgumentTypeError("expected NAME=http://HOST:PORT/metrics")
    return name, url


def main(argv):
    parser = argparse.ArgumentParser(description="Scrape Prometheus endpoints into JSON lines.")
    parser.add_argument("--out", required=True, help="the file to append to, until SIGTERM")
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--match", required=True, help="regular expression, anchored at the start of a series")
    parser.add_argument("--target", required=True, action="append", type=target, metavar="NAME=URL")
    args = parser.parse_args(argv)
    with open(args.out, "a") as out:
        Sampler(out, args.interval, re.compile(args.match.encode()), args.target).run()


if __name__ == "__main__":
    main(sys.argv[1:])
