"""What INFO says of a Redis server."""

import functools
import socket

METRICS = {
    "total_commands_processed": ("counter", "1/s"),
    "total_net_input_bytes": ("counter", "B/s"),
    "total_net_output_bytes": ("counter", "B/s"),
    "used_cpu_user": ("counter", "cores"),
    "used_cpu_sys": ("counter", "cores"),
    "used_memory": ("level", "B"),
    "connected_clients": ("level", "clients"),
    "rdb_bgsave_in_progress": ("level", "snapshots"),
}


@functools.lru_cache(maxsize=1)
def _logged_in(address, port, user, password):
    stream = socket.create_connection((address, port), timeout=5).makefile("rwb")
    if password:
        _asked(stream, "AUTH", user or "default", password)
    return stream


def _asked(stream, *words):
    """The answer to a command (Redis serialization protocol): a line, or a text of so many bytes."""
    parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in map(str.encode, words)]
    stream.write(b"*%d\r\n" % len(parts) + b"".join(parts))
    stream.flush()
    said = stream.readline().decode().strip()
    if said.startswith("$"):
        return stream.read(int(said[1:]) + 2).decode()
    if not said.startswith("+"):
        raise ValueError("Redis answers " + (said or "nothing"))
    return said[1:]


def sample(address, port, user, password):
    """INFO's lines are `name:value`."""
    try:
        lines = _asked(_logged_in(address, port, user, password), "INFO").splitlines()
    except (OSError, ValueError):
        _logged_in.cache_clear()
        raise
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {name: float(value) for name, value in pairs if name in METRICS}
