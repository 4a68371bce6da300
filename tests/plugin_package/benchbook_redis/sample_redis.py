"""Samples a Redis server once a second into a file: sample_redis.py OUT_FILE ADDRESS PORT METRIC ..."""

import json
import signal
import socket
import sys
import time

STOP = (signal.SIGTERM, signal.SIGINT)


def info(address, port, wanted):
    """The wanted numbers of INFO's lines `name:value`; the answer's length stands before them, as `$4711`."""
    with socket.create_connection((address, port), timeout=5) as link, link.makefile("rwb") as stream:
        stream.write(b"INFO\r\n")
        stream.flush()
        length = int(stream.readline()[1:])
        lines = stream.read(length).decode().splitlines()
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {name: float(value) for name, value in pairs if name in wanted}


def sample(address, port, wanted):
    try:
        return {"v": info(address, port, wanted)}
    except (OSError, ValueError) as problem:
        return {"error": str(problem)}


def main(argv):
    out_path, address, port, wanted = argv[0], argv[1], int(argv[2]), set(argv[3:])
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    due, stopped = time.monotonic(), None
    with open(out_path, "w", buffering=1) as out:  # noqa: PTH123
        while True:
            line = {"t": time.time(), "cpu": time.process_time()}
            line.update(sample(address, port, wanted))
            out.write(json.dumps(line) + "\n")
            if stopped:
                return 0
            due += 1.0
            stopped = signal.sigtimedwait(STOP, max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
