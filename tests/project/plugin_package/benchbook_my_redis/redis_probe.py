"""Keys that a Redis server was asked for and had, which the kit's own probe of Redis leaves out."""

import socket

METRICS = {"keyspace_hits": ("counter", "1/s"), "keyspace_misses": ("counter", "1/s")}


def sample(address, port):
    with socket.create_connection((address, port), timeout=5) as link, link.makefile("rwb") as stream:
        stream.write(b"INFO stats\r\n")
        stream.flush()
        # The answer's length stands before its lines, as `$4711`.
        lines = stream.read(int(stream.readline()[1:])).decode().splitlines()
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {name: float(value) for name, value in pairs if name in METRICS}
