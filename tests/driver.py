"""A driver as small as one can be: reserves hosts, and does what it is told on standard input, line by line.

    driver.py INVENTORY HOST[,HOST] [elsewhere] [apart]

It says `reserved`, then answers `load` (a job on each host) with `loading`, and `wait` with how the first job ended; it
leaves at the end of its input. `elsewhere`: its reservation reads as if made on another machine. `apart`: each host
counts as a machine of its own, reserved one after the other.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from benchbook.errors import BenchbookError
from benchbook.hosts import holder, reservation
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.jobs import Command, Job
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session


def apart(host: RemoteHost, arrive=reservation.arrive) -> reservation.Arrival:
    arrival = arrive(host)
    return replace(arrival, place=f"{arrival.place} {host.name}")


def drive(inventory: str, names: str) -> None:
    jobs: list[Job] = []
    with Session(load_inventory(inventory), names.split(",")) as session:
        print("reserved", flush=True)
        for line in sys.stdin:
            if line == "load\n":
                load = Command(["sleep", "300"], timeout_s=300, grace_s=0.5)
                jobs += [session.start(host, "load", load) for host in session.hosts.values()]
                print("loading", flush=True)
            elif line == "wait\n":
                print(jobs[0].wait().reason, flush=True)


if __name__ == "__main__":
    if "elsewhere" in sys.argv:
        holder._boot = lambda: "another machine's"
    if "apart" in sys.argv:
        reservation.arrive = apart
    try:
        drive(*sys.argv[1:3])
    except BenchbookError as problem:
        print(problem, flush=True)
        sys.exit(problem.exit_status)
